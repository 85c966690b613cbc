import type { DataChannel } from "node-datachannel";
import type { StreamNotice } from "#contracts/stream.ts";

/** More than this waits only for a browser that does not read, which could fill the memory with responses to its own messages. */
const maxWaitingBytes = 65_536;

/** Sends a notice, unless the channel is closed or too much waits in it. Throws when the channel closes in between. */
export function sendNotice(channel: Pick<DataChannel, "isOpen" | "bufferedAmount" | "sendMessage">, notice: StreamNotice): void {
  if (channel.isOpen() && channel.bufferedAmount() < maxWaitingBytes) channel.sendMessage(JSON.stringify(notice));
}
