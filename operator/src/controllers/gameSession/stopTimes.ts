import type { Clock } from "#runtime/clock.ts";

/** What others note with a time of their own, and a deadline counts from. */
export type Moment = "startedAt" | "assignedAt" | "readyAt" | "unschedulableSince";

const allMoments: readonly Moment[] = ["startedAt", "assignedAt", "readyAt", "unschedulableSince"];

/**
 * Remembers when this process first saw each session stopping. What the API server notes of a stop is by its own clock, which may be minutes off;
 * an operator that takes a stop or another wait over from a former one waits anew.
 */
export class StopTimes {
  readonly #clock: Clock;
  /** By session key. */
  readonly #seen = new Map<string, { uid: string; at: Date }>();
  /** By session key and moment: its time as it was noted, and when that was first seen. */
  readonly #moments = new Map<string, Partial<Record<Moment, { noted: string; at: Date }>>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns when the stop was first seen, which is now for one that is new. */
  seenAt(key: string, uid: string): Date {
    const seen = this.#seen.get(key);
    if (seen?.uid === uid) return seen.at;
    const at = this.#clock.now();
    this.#seen.set(key, { uid, at });
    return at;
  }

  /** Returns when each of the moments, given by its noted time, was first seen: at `now` for one that is new. */
  momentsOf(key: string, noted: Partial<Record<Moment, string>>, now: Date): Partial<Record<Moment, Date>> {
    const known = this.#moments.get(key) ?? {};
    const moments: typeof known = {};
    for (const moment of allMoments) {
      const time = noted[moment];
      if (time === undefined) continue;
      const before = known[moment];
      moments[moment] = before?.noted === time ? before : { noted: time, at: now };
    }
    this.#moments.set(key, moments);
    return Object.fromEntries(Object.entries(moments).map(([moment, { at }]) => [moment, at]));
  }

  /** Forgets the stop of a session that has ended. */
  forget(key: string): void {
    this.#seen.delete(key);
  }

  /** Forgets a session that is gone. */
  forgetAll(key: string): void {
    this.forget(key);
    this.#moments.delete(key);
  }
}
