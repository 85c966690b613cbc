import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/**
 * Remembers when this process last saw each game session's `expiresAt` move, by its monotonic clock: so the
 * operator counts, too. The time that `expiresAt` names may be by a clock that is minutes off. It follows the
 * cache change by change.
 */
export class ExpiryMoves {
  readonly #clock: Clock;
  /** By session. */
  readonly #seen = new Map<string, { expiresAt: string; atMs: number }>();

  constructor(gameSessions: CacheReader<GameSession>, clock: Clock) {
    this.#clock = clock;
    for (const session of gameSessions.list()) this.#note(session.metadata.name, session);
    gameSessions.subscribe(({ type, object }) =>
      this.#note(object.metadata.name, type === "deleted" ? undefined : object),
    );
  }

  /**
   * Returns for how many milliseconds the session's expiry has stood still here; 0 for a session that has
   * none, or that is not known.
   */
  unmovedMs(id: string): number {
    const seen = this.#seen.get(id);
    return seen === undefined ? 0 : this.#clock.monotonicMs() - seen.atMs;
  }

  #note(id: string, session: Stored<GameSession> | undefined): void {
    const expiresAt = session?.spec.expiresAt;
    if (expiresAt === undefined) this.#seen.delete(id);
    else if (this.#seen.get(id)?.expiresAt !== expiresAt)
      this.#seen.set(id, { expiresAt, atMs: this.#clock.monotonicMs() });
  }
}
