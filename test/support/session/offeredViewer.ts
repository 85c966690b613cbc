import { freeUdpPort } from "../processes/childProgram.ts";
import { receiveFromProcess } from "./receiveFromProcess.ts";

/**
 * Result of the process: the initial bitrate of a viewer with a low maximum, the bitrate after raising the
 * maximum, and the timers left after the viewers were closed.
 */
export interface ViewerByOffer {
  kbps: number;
  widenedKbps: number;
  timersAfterEnd: number;
}

/** Initial bitrate of a new connection without a limit, and the low and the high maximum. */
export const offeredKbps = { start: 4_000, narrow: 1_500, wide: 8_000 } as const;

/** Answers an offer with the viewers of a session with a low maximum bitrate. Returns the result. */
export async function viewerByOffer(): Promise<ViewerByOffer> {
  return receiveFromProcess(
    new URL("./offeredViewerProcess.ts", import.meta.url),
    String(await freeUdpPort()),
  );
}
