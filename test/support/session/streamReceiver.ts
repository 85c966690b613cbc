import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { eventually } from "../clocks/eventually.ts";

/** What the receiver's process is told. */
export type ReceiverCommand = { type: "take"; sdp: string } | { type: "takeLongestGap" };

/** What the receiver's process tells; `frame` is the first one. */
export type ReceiverEvent = { type: "offer"; sdp: string } | { type: "frame" | "lost" } | { type: "longestGap"; milliseconds: number };

const timeoutMs = 30_000;

/** A WHEP player that takes a session's stream and shows no picture, for the tenth of what a browser costs. */
export class StreamReceiver {
  readonly #process: ChildProcess;
  readonly #events: ReceiverEvent[] = [];

  private constructor(process: ChildProcess) {
    this.#process = process;
    process.on("message", (event: ReceiverEvent) => this.#events.push(event));
  }

  /** `offer` exchanges the offer for the answer. Resolves with the first frame. */
  static async open(offer: (sdp: string) => Promise<string>): Promise<StreamReceiver> {
    const receiver = new StreamReceiver(fork(new URL("./streamReceiverProcess.ts", import.meta.url)));
    try {
      const { sdp } = await receiver.#event("offer");
      receiver.#tell({ type: "take", sdp: await offer(sdp) });
      await receiver.#event("frame");
      return receiver;
    } catch (error) {
      await receiver.close();
      throw error;
    }
  }

  /** The longest time in milliseconds between two frames since the last call. Throws when the connection is lost. */
  async takeLongestGap(): Promise<number> {
    this.#tell({ type: "takeLongestGap" });
    const { milliseconds } = await this.#event("longestGap");
    if (this.#events.some(({ type }) => type === "lost")) throw new Error("The stream is lost.");
    return milliseconds;
  }

  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.disconnect();
    await ended;
  }

  /** The next event of that type, which is told once. */
  #event<T extends ReceiverEvent["type"]>(type: T): Promise<Extract<ReceiverEvent, { type: T }>> {
    return eventually(() => {
      if (this.#process.exitCode !== null) throw new Error(`The receiver ended with ${this.#process.exitCode}.`);
      const index = this.#events.findIndex((event) => event.type === type);
      return index >= 0 && this.#events.splice(index, 1)[0] as Extract<ReceiverEvent, { type: T }>;
    }, { timeoutMs, intervalMs: 20, what: `the receiver to tell its ${type}` });
  }

  #tell(command: ReceiverCommand): void {
    this.#process.send(command);
  }
}
