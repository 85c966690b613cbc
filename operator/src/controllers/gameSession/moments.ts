/** The start of a wait: a time recorded by another program's clock, or a stop. */
export type Moment =
  | "startedAt"
  | "assignedAt"
  | "unschedulableSince"
  | "readyAt"
  | "expiresAt"
  | "stopping"
  | "finishedAt";

/** Identifies each moment, to distinguish it from an earlier one of the same kind. */
export type NotedMoments = Partial<Record<Moment, string>>;

/** When this process first saw each moment, in milliseconds of its monotonic clock. */
export type SeenMoments = Partial<Record<Moment, number>>;

/**
 * Remembers when this process first saw each moment of each session. The recorded times come from the clocks
 * of an earlier leader, the scheduler, the API server and the database, which may be minutes off, and the
 * local wall clock may be adjusted. Waits are therefore measured with the monotonic clock alone. A new leader
 * restarts each wait.
 */
export class Moments {
  /** By session key. */
  readonly #known = new Map<string, Partial<Record<Moment, { noted: string; atMs: number }>>>();

  /**
   * Returns when each moment was first seen, which is now for a new one. Forgets moments that are not given.
   */
  note(key: string, noted: NotedMoments, nowMs: number): SeenMoments {
    const before = this.#known.get(key);
    const entries = (Object.entries(noted) as [Moment, string][]).map(([moment, value]) => {
      const known = before?.[moment];
      return [moment, known?.noted === value ? known : { noted: value, atMs: nowMs }] as const;
    });
    this.#known.set(key, Object.fromEntries(entries));
    return Object.fromEntries(entries.map(([moment, { atMs }]) => [moment, atMs]));
  }

  /** Returns when the moment was first seen. Undefined if it was not. */
  seenAtMs(key: string, moment: Moment): number | undefined {
    return this.#known.get(key)?.[moment]?.atMs;
  }

  /** Forgets a session that is gone. */
  forget(key: string): void {
    this.#known.delete(key);
  }
}
