import type { Clock } from "#runtime/scheduling/clock.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SpoolUnreadable } from "./readSpool.ts";

/**
 * What is read of a session's spool: the packer's words, or a pack. The one may be read where the other is
 * not.
 */
type SpoolPart = "words" | "pack";

/** What a file system says of what its own checks have found to be damaged: it says so at each reading. */
const damageCodes: ReadonlySet<string> = new Set(["EUCLEAN", "EBADMSG"]);
/**
 * A disk that fails once must not cost a session its last save; one that has failed for this long has lost
 * it.
 */
const failingMs = 60_000;

/** Tells what a disk has lost of the spools from what it failed to read for a moment. */
export class ReadFailures {
  readonly #clock: Clock;
  /** Since when the disk has read nothing of a part, by game session. */
  readonly #failingSince = new Map<string, Map<SpoolPart, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns what was read. Throws SpoolUnreadable where it is lost, and what may pass as it is. */
  async during<T>(gameSession: string, part: SpoolPart, read: () => Promise<T>): Promise<T> {
    try {
      const result = await read();
      this.#failingSince.get(gameSession)?.delete(part);
      return result;
    } catch (error) {
      const code = systemErrorCode(error) ?? "";
      if (!damageCodes.has(code) && !(code === "EIO" && this.#isFailingFor(gameSession, part))) throw error;
      throw new SpoolUnreadable(code, error, "The disk does not return what the packer wrote");
    }
  }

  /** Forgets a session that is over. */
  forget(gameSession: string): void {
    this.#failingSince.delete(gameSession);
  }

  #isFailingFor(gameSession: string, part: SpoolPart): boolean {
    const now = this.#clock.monotonicMs();
    const parts = this.#failingSince.get(gameSession) ?? new Map<SpoolPart, number>();
    this.#failingSince.set(gameSession, parts);
    const since = parts.get(part) ?? now;
    parts.set(part, since);
    return now - since >= failingMs;
  }
}
