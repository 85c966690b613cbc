import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isSavePending } from "#contracts/crd/sessionConditions.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import { keyOf } from "#kube/api/object.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** What following the saves needs. */
export interface SavesWaitingDeps {
  gameSessions: CacheReader<GameSession>;
  clock: Pick<Clock, "monotonicMs">;
}

/**
 * Knows how long each ended session's last save has waited on its node, by this process's own clock: the time
 * of the end in the status is a former leader's. A standby follows them, too, so that they are as old after a
 * change of leaders; what had ended before the process is counted from its start.
 */
export class SavesWaiting {
  readonly #clock: SavesWaitingDeps["clock"];
  /** By session key: when the save was first seen to wait. */
  readonly #sinceMs = new Map<string, number>();

  constructor({ gameSessions, clock }: SavesWaitingDeps) {
    this.#clock = clock;
    gameSessions.subscribe(({ type, object }) => {
      const key = keyOf(object);
      if (type === "deleted" || !isSavePending(object)) this.#sinceMs.delete(key);
      else if (!this.#sinceMs.has(key)) this.#sinceMs.set(key, clock.monotonicMs());
    });
  }

  /** Returns how long the session's save has waited; 0 when it does not. */
  secondsOf(key: string): number {
    const sinceMs = this.#sinceMs.get(key);
    return sinceMs === undefined ? 0 : (this.#clock.monotonicMs() - sinceMs) / 1000;
  }
}
