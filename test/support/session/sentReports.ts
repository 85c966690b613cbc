import { freeUdpPort } from "../processes/childProgram.ts";
import { toldByProcess } from "./toldByProcess.ts";

/**
 * A sender report as a page gets it: its time in milliseconds, and the time of the media at that time, also
 * in milliseconds.
 */
export interface ReceivedReport {
  atMs: number;
  mediaMs: number;
  name: string;
}

/**
 * What the process tells: two reports of the picture, the second of which left with a packet that was sent
 * again, and the first one of the sound.
 */
export interface SentReports {
  picture: ReceivedReport[];
  sound: ReceivedReport;
}

/**
 * Sends a page a picture's packet, one of half a second later, and that one again until a second report has
 * come.
 */
export async function sentReports(): Promise<SentReports> {
  return toldByProcess(new URL("./sentReportsProcess.ts", import.meta.url), String(await freeUdpPort()));
}
