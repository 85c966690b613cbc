import { setTimeout as delay } from "node:timers/promises";
import type { Invariants } from "./invariants.ts";

/** Checks a platform's invariants in the background. */
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

  /**
   * Checks once more.
   *
   * @throws If there are violations that were not thrown before.
   */
  async check(): Promise<void> {
    await this.#tryToLook();
    this.#throwViolations();
  }

  /**
   * Stops with a final check, including objects, for which the stores must be available.
   *
   * @throws If there are violations that were not thrown before.
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

  /** Ignores failures, because a test may have stopped a store. */
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
