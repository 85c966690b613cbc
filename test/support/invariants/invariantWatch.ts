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

  /** Looks once more, and throws when something did not hold that was not thrown before. */
  async check(): Promise<void> {
    await this.#tryToLook();
    this.#throwViolations();
  }

  /**
   * Ends it with a last look, at the objects too, for which the stores have to be there. Throws when
   * something did not hold that was not thrown before.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#invariants.look();
    await this.#invariants.readObjects();
    this.#throwViolations();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#tryToLook();
      await delay(this.#intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** A store that is stopped on purpose cannot be looked at. */
  async #tryToLook(): Promise<void> {
    await this.#invariants.look().then(
      () => void (this.#looks += 1),
      () => undefined,
    );
  }

  #throwViolations(): void {
    const violations = this.#invariants.takeViolations();
    if (violations.length > 0)
      throw new Error(
        `What has to hold at every moment did not (${this.#looks} looks):\n${violations.join("\n")}`,
      );
  }
}
