import type { StreamInput } from "#contracts/stream.ts";
import { InputQueue } from "./inputQueue.ts";

/** With more unsent bytes than this, input waits in the queue, where it can still be merged. */
const highWaterBytes = 4_096;
const lowWaterBytes = 1_024;

/** The members of RTCDataChannel that sending needs. */
export interface InputChannel extends EventTarget {
  readonly readyState: RTCDataChannelState;
  readonly bufferedAmount: number;
  bufferedAmountLowThreshold: number;
  send(text: string): void;
}

/** Sends input over a data channel: at once, or merged and in order when a full channel has drained. */
export class InputSender {
  readonly #channel: InputChannel;
  readonly #queue = new InputQueue();

  constructor(channel: InputChannel) {
    this.#channel = channel;
    channel.bufferedAmountLowThreshold = lowWaterBytes;
    channel.addEventListener("bufferedamountlow", () => this.#flush());
  }

  /**
   * Sends a message. While the channel is not open messages are dropped, so that no key takes effect that was
   * pressed before the picture showed.
   */
  send(message: StreamInput): void {
    if (this.#channel.readyState === "open") this.#queue.push(message);
    else this.#queue.clear();
    this.#flush();
  }

  #flush(): void {
    while (this.#channel.readyState === "open" && this.#channel.bufferedAmount < highWaterBytes) {
      const message = this.#queue.shift();
      if (message === undefined) return;
      this.#channel.send(JSON.stringify(message));
    }
  }
}
