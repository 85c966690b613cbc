import type { DataChannel } from "node-datachannel";
import type { TestNotice } from "#contracts/connectionTest.ts";
import type { StreamNotice } from "#contracts/stream.ts";

/**
 * More than this waits only for a browser that does not read, which could fill the memory with responses to
 * its own messages.
 */
const maxWaitingBytes = 65_536;

/** What is used of the data channel that notices go by. */
export type NoticeChannel = Pick<DataChannel, "isOpen" | "bufferedAmount" | "sendMessage">;

/**
 * Sends a notice, unless the channel is closed or too much waits in it. Throws when the channel closes in
 * between.
 */
export function sendNotice(channel: NoticeChannel, notice: StreamNotice | TestNotice): void {
  if (channel.isOpen() && channel.bufferedAmount() < maxWaitingBytes)
    channel.sendMessage(JSON.stringify(notice));
}
