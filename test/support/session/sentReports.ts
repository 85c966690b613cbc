import { freeUdpPort } from "../processes/childProgram.ts";
import { receiveFromProcess } from "./receiveFromProcess.ts";

/**
 * A sender report as received by a page: its time and the media's time at that moment, both in milliseconds.
 */
export interface ReceivedReport {
  atMs: number;
  mediaMs: number;
  name: string;
}

/**
 * Result of the process: two reports of the picture, the second of which was sent with a retransmission, and
 * the first report of the sound.
 */
export interface SentReports {
  picture: ReceivedReport[];
  sound: ReceivedReport;
}

/**
 * Sends a page a video packet, another half a second later, and then retransmits that one until a second
 * report has arrived.
 */
export async function sentReports(): Promise<SentReports> {
  return receiveFromProcess(new URL("./sentReportsProcess.ts", import.meta.url), String(await freeUdpPort()));
}
