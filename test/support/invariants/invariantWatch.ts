import { setTimeout as delay } from "node:timers/promises";
import type { Invariants } from "./invariants.ts";

/** Looks at a platform's invariants beside whatever is done to it. */
export class InvariantWatch {
  readonly #invariants: Invariants;
  readonly #intervalMs: number;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #looks = 0;

  constructor(invariants: Invariants, intervalMs: number) {
    this.#invariants = invariants;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#running = this.#watch(this.#stopping.signal);
  }

  /** Ends it with a last look, at the objects too, for which the stores have to be there. Throws when something did not hold. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#invariants.look();
    await this.#invariants.readObjects();
    const { violations } = this.#invariants;
    if (violations.length > 0) throw new Error(`What has to hold at every moment did not (${this.#looks} looks):\n${violations.join("\n")}`);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A store that is stopped on purpose cannot be looked at.
      await this.#invariants.look().then(() => void (this.#looks += 1), () => undefined);
      await delay(this.#intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
