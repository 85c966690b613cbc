import { freeUdpPort } from "../processes/childProgram.ts";
import { toldByProcess } from "./toldByProcess.ts";

/**
 * What the process tells of a session's viewers: the bitrate at which one begins under a quality, the one
 * after a wider quality, and timers after their end.
 */
export interface ViewerByOffer {
  kbps: number;
  widenedKbps: number;
  timersAfterEnd: number;
}

/**
 * The bitrate of a new connection where no quality lowers it, and what the narrow quality and the wide one
 * allow.
 */
export const offeredKbps = { start: 4_000, narrow: 1_500, wide: 8_000 } as const;

/**
 * Answers an offer, whose page then does nothing, as the viewers of a session do that has a narrow quality;
 * returns what becomes of it.
 */
export async function viewerByOffer(): Promise<ViewerByOffer> {
  return toldByProcess(new URL("./offeredViewerProcess.ts", import.meta.url), String(await freeUdpPort()));
}
