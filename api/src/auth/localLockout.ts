import type { LockoutRules } from "./lockoutRules.ts";

interface Subject {
  /** The time of each counted failure, by attempt. */
  failures: Map<string, number>;
  /** The time of each attempt whose result is not known yet. */
  undecided: Map<string, number>;
  level: number;
  lockedAt: number;
  lockedUntil: number;
  lockedBy: string | undefined;
  /** The last success at another process that this one knows of. */
  succeededAt: number;
  seenAt: number;
}

const subjectsMax = 10_000;

/** The lockout as one process counts it. Times are milliseconds of the epoch and come from the caller. */
export class LocalLockout {
  readonly #rules: LockoutRules;
  readonly #subjects = new Map<string, Subject>();

  constructor(rules: LockoutRules) {
    this.#rules = rules;
  }

  /**
   * Counts an attempt; returns for how many milliseconds the subject is still locked, or 0 when the attempt
   * may be made. Returns undefined while attempts that count towards the lock may still turn out right.
   */
  begin(name: string, attempt: string, now: number): number | undefined {
    const subject = this.#subjectOf(name, now);
    for (const [id, at] of subject.undecided) {
      if (at <= now - this.#rules.undecidedMs) subject.undecided.delete(id);
    }
    if (subject.lockedUntil > now) return subject.undecided.size > 0 ? undefined : subject.lockedUntil - now;
    for (const [id, at] of subject.failures) {
      if (at <= now - this.#rules.windowMs || at <= subject.lockedAt) subject.failures.delete(id);
    }
    subject.failures.set(attempt, now);
    subject.undecided.set(attempt, now);
    if (subject.failures.size >= this.#rules.failures) this.#lock(subject, attempt, now);
    return 0;
  }

  /** Notes that the attempt has failed. */
  fail(name: string, attempt: string): void {
    this.#subjects.get(name)?.undecided.delete(attempt);
  }

  /** Takes back an attempt that was not made, and the lock that it led to when too few others did. */
  takeBack(name: string, attempt: string): void {
    const subject = this.#subjects.get(name);
    if (subject === undefined) return;
    const at = subject.failures.get(attempt);
    subject.failures.delete(attempt);
    subject.undecided.delete(attempt);
    // What led to a lock is kept until the first attempt after it, and nothing is added meanwhile.
    const hasLedToLock = at !== undefined && at <= subject.lockedAt;
    if (!hasLedToLock || subject.failures.size >= this.#rules.failures) return;
    subject.level -= 1;
    subject.lockedAt = -1;
    subject.lockedUntil = 0;
    subject.lockedBy = undefined;
  }

  /**
   * Notes that a password was right at another process, as `attempt` has found out, which began after that.
   * Failures, level and a lock up to that moment are forgotten; the attempt itself counts on, and locks only
   * if there are enough failures without those.
   */
  succeedElsewhere(name: string, attempt: string, at: number): void {
    const subject = this.#subjects.get(name);
    if (subject === undefined || at <= subject.succeededAt) return;
    subject.succeededAt = at;
    for (const [id, failedAt] of subject.failures) {
      if (failedAt <= at && id !== attempt) subject.failures.delete(id);
    }
    const isLockedSince =
      subject.lockedAt > at &&
      (subject.lockedBy !== attempt || subject.failures.size >= this.#rules.failures);
    if (isLockedSince) return;
    subject.level = 0;
    subject.lockedAt = -1;
    subject.lockedUntil = 0;
    subject.lockedBy = undefined;
  }

  /** Forgets a subject's failures after a right password. */
  forget(name: string): void {
    this.#subjects.delete(name);
  }

  #lock(subject: Subject, attempt: string, now: number): void {
    subject.level += 1;
    const { lockMs } = this.#rules;
    subject.lockedAt = now;
    subject.lockedUntil = now + (lockMs[Math.min(subject.level, lockMs.length) - 1] ?? 0);
    subject.lockedBy = attempt;
  }

  /**
   * Returns the subject. Subjects are kept in order of use, so those that are too old, or too many, are at
   * the front.
   */
  #subjectOf(name: string, now: number): Subject {
    const known = this.#subjects.get(name);
    this.#subjects.delete(name);
    const isFresh = known !== undefined && now - known.seenAt < this.#rules.memoryMs;
    const subject = isFresh ? known : newSubject(now);
    subject.seenAt = now;
    this.#subjects.set(name, subject);
    for (const [oldest, { seenAt }] of this.#subjects) {
      if (this.#subjects.size <= subjectsMax && now - seenAt < this.#rules.memoryMs) break;
      this.#subjects.delete(oldest);
    }
    return subject;
  }
}

function newSubject(now: number): Subject {
  return {
    failures: new Map<string, number>(),
    undecided: new Map<string, number>(),
    level: 0,
    lockedAt: -1,
    lockedUntil: 0,
    lockedBy: undefined,
    succeededAt: -1,
    seenAt: now,
  };
}
