import type { StreamInput } from "#contracts/stream.ts";
import { InputQueue } from "./inputQueue.ts";

/** Above this number of unsent bytes, input waits in the queue, where it can be merged. */
const highWaterBytes = 4_096;
const lowWaterBytes = 1_024;

/** The members of RTCDataChannel that sending needs. */
export interface InputChannel extends EventTarget {
  readonly readyState: RTCDataChannelState;
  readonly bufferedAmount: number;
  bufferedAmountLowThreshold: number;
  send(text: string): void;
}

/** Sends input over a data channel: at once or, after a full channel has drained, merged and in order. */
export class InputSender {
  readonly #channel: InputChannel;
  readonly #queue = new InputQueue();

  constructor(channel: InputChannel) {
    this.#channel = channel;
    channel.bufferedAmountLowThreshold = lowWaterBytes;
    channel.addEventListener("bufferedamountlow", () => this.#flush());
  }

  /**
   * Sends a message. Drops messages while the channel is not open, so that keys pressed before the picture
   * appears have no effect.
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
