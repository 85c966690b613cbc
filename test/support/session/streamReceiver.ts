import { eventually } from "../clocks/eventually.ts";
import { PeerProcess } from "./peerProcess.ts";
import type { FrameGap } from "./frameGap.ts";

/** Messages to the receiver process. */
export type ReceiverCommand = { type: "take"; sdp: string } | { type: "takeLongestGap" };

/** Messages of the receiver process after its offer; `frame` is the first frame. */
export type ReceiverEvent = { type: "frame" | "lost" } | { type: "longestGap"; gap: FrameGap };

const timeoutMs = 30_000;

/** A WHEP player that receives a session's stream without showing it, at a tenth of a browser's cost. */
export class StreamReceiver {
  readonly #process: PeerProcess<ReceiverCommand, ReceiverEvent>;
  readonly #events: ReceiverEvent[] = [];

  private constructor(process: PeerProcess<ReceiverCommand, ReceiverEvent>) {
    this.#process = process;
    process.follow((event) => this.#events.push(event));
  }

  /** `offer` exchanges the offer for the answer. Resolves with the first frame. */
  static async open(
    offer: (sdp: string) => Promise<string>,
    codec: "H264" | "H265" = "H264",
  ): Promise<StreamReceiver> {
    const process = await PeerProcess.start<ReceiverCommand, ReceiverEvent>(
      new URL("./streamReceiverProcess.ts", import.meta.url),
      codec,
    );
    const receiver = new StreamReceiver(process);
    try {
      process.tell({ type: "take", sdp: await offer(process.offer) });
      await receiver.#event("frame");
      return receiver;
    } catch (error) {
      await receiver.close();
      throw error;
    }
  }

  /**
   * Returns the longest time between two frames since the last call.
   *
   * @throws Error when the connection is lost.
   */
  async takeLongestGap(): Promise<FrameGap> {
    this.#process.tell({ type: "takeLongestGap" });
    const { gap } = await this.#event("longestGap");
    if (this.#events.some(({ type }) => type === "lost")) throw new Error("The stream is lost.");
    return gap;
  }

  close(): Promise<void> {
    return this.#process.close();
  }

  /** Returns the next event of this type, which is sent only once. */
  #event<T extends ReceiverEvent["type"]>(type: T): Promise<Extract<ReceiverEvent, { type: T }>> {
    return eventually(
      () => {
        if (this.#process.hasEnded) throw new Error("The receiver has ended.");
        const index = this.#events.findIndex((event) => event.type === type);
        return index >= 0 && (this.#events.splice(index, 1)[0] as Extract<ReceiverEvent, { type: T }>);
      },
      { timeoutMs, intervalMs: 20, what: `the receiver to tell its ${type}` },
    );
  }
}
