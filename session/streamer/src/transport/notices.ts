import type { DataChannel } from "node-datachannel";
import type { TestNotice } from "#contracts/connectionTest.ts";
import type { StreamNotice } from "#contracts/stream.ts";

/**
 * More than this queues only for a browser that does not read; responses to its messages could otherwise fill
 * the memory.
 */
const maxWaitingBytes = 65_536;

/** The part of a data channel that notices need. */
export type NoticeChannel = Pick<DataChannel, "isOpen" | "bufferedAmount" | "sendMessage">;

/**
 * Sends a notice unless the channel is closed or its queue is full.
 *
 * @throws Error when the channel closes during the call.
 */
export function sendNotice(channel: NoticeChannel, notice: StreamNotice | TestNotice): void {
  if (channel.isOpen() && channel.bufferedAmount() < maxWaitingBytes)
    channel.sendMessage(JSON.stringify(notice));
}
