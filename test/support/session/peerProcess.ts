import type { ChildProcess } from "node:child_process";
import { forkProgram, type ForkedProgram } from "./forkedProgram.ts";

/** First message of every peer process. */
export interface PeerOffer {
  type: "offer";
  sdp: string;
}

/**
 * A peer of the streamer in a separate process, which ends when it is disconnected: the transport's threads
 * would keep the test process alive.
 */
export class PeerProcess<Command extends object, Event extends object> {
  /** SDP of its offer. */
  readonly offer: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<string>;

  private constructor({ process, ended }: ForkedProgram, offer: string) {
    this.#process = process;
    this.#ended = ended;
    this.offer = offer;
  }

  /**
   * Starts the program.
   *
   * @throws Error when it exits or sends another message before its offer.
   */
  static async start<Command extends object, Event extends object>(
    program: URL,
    ...args: string[]
  ): Promise<PeerProcess<Command, Event>> {
    const forked = forkProgram(program, args);
    const offer = await new Promise<string>((resolve, reject) => {
      forked.process.once("message", ({ type, sdp }: PeerOffer | { type: string; sdp?: never }) => {
        if (sdp !== undefined) resolve(sdp);
        else reject(new Error(`The peer begins with ${type} instead of its offer.`));
      });
      void forked.ended.then((how) => reject(new Error(`The peer made no offer and ${how}`)));
    });
    return new PeerProcess(forked, offer);
  }

  /** Calls the listener for each later message. */
  follow(listener: (event: Event) => void): void {
    this.#process.on("message", listener);
  }

  tell(command: Command): void {
    this.#process.send(command);
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }

  /** Disconnects it and waits for its end. */
  async close(): Promise<void> {
    if (this.hasEnded) return;
    this.#process.disconnect();
    await this.#ended;
  }
}
