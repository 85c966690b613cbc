import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { orAborted, withDeadline } from "#runtime/scheduling/deadline.ts";
import { unavailable } from "../errors.ts";

/** How a store is looked at. */
export interface StoreLookOptions {
  clock: Clock;
  /** How long the result of a look is told to everybody. */
  keptMs: number;
  /** Resolves when the store serves requests. */
  ask: () => Promise<void>;
  /** For clients, when it does not. */
  message: string;
  /** Returns what is wrong and can be mended, for clients too; undefined for what passes by itself. */
  explain: (error: unknown) => string | undefined;
  logger: Logger;
}

const lookMs = 2_000;

/**
 * Looks at a store once for all who ask at the same time or soon after, so that a flood of questions costs
 * the store nothing.
 */
export class StoreLook {
  readonly #options: StoreLookOptions;
  /** Goes on when the look is over: a store that hangs is not asked once more by each look. */
  #question: Promise<void> | undefined;
  #look: Promise<void> | undefined;
  #freshUntilMs = 0;
  /** Why the last look failed; undefined when it did not. */
  #told: string | undefined;

  constructor(options: StoreLookOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the store serves requests. Throws unavailable when it does not, or not within two seconds.
   */
  check(): Promise<void> {
    const { clock } = this.#options;
    if (this.#look !== undefined && clock.monotonicMs() < this.#freshUntilMs) return this.#look;
    this.#freshUntilMs = Infinity;
    const look = this.#begin().finally(
      () => (this.#freshUntilMs = clock.monotonicMs() + this.#options.keptMs),
    );
    look.catch(() => undefined); // Told to whoever asks.
    return (this.#look = look);
  }

  async #begin(): Promise<void> {
    const { clock, ask, message, explain, logger } = this.#options;
    const question = (this.#question ??= ask().finally(() => (this.#question = undefined)));
    try {
      await withDeadline({ clock, ms: lookMs, what: "A health check" }, (signal) =>
        orAborted(question, signal),
      );
      if (this.#told !== undefined) logger.info({ former: this.#told }, "A store can be used again.");
      this.#told = undefined;
    } catch (cause) {
      const reason = explain(cause) ?? message;
      if (reason !== this.#told) logger.warn({ err: cause, reason }, "A store cannot be used.");
      this.#told = reason;
      throw unavailable(reason, cause);
    }
  }
}
