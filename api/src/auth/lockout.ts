import { createHash, randomBytes } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Redis } from "../stores/redis.ts";

/**
 * An attempt without a result after this time was lost with its process. Other attempts stop waiting for it.
 */
export const undecidedMs = 15_000;

/** Thresholds and durations of locks. */
interface LockoutRules {
  failures: number;
  windowMs: number;
  lockMs: readonly number[];
  memoryMs: number;
  /** How long other attempts wait for an undecided one. */
  undecidedMs: number;
}

/** Permission to check one password. Report the result, because other attempts may wait for it. */
export interface Attempt {
  isAllowed: true;
  /** The password was wrong. */
  failed(): Promise<void>;
  /** The password was right. All failures are cleared. */
  succeeded(): Promise<void>;
  /** The password was not checked, so the attempt does not count. */
  cancelled(): Promise<void>;
}

/** A refused attempt, with the remaining time of the lock. */
export interface Locked {
  isAllowed: false;
  retryAfterSeconds: number;
}

const rules: LockoutRules = {
  failures: limits.auth.failuresBeforeLock,
  windowMs: limits.auth.failureWindowSeconds * 1000,
  lockMs: limits.auth.lockSeconds.map((seconds) => seconds * 1000),
  memoryMs: limits.auth.lockLevelMemorySeconds * 1000,
  undecidedMs,
};

/**
 * Locks an e-mail address after too many failures. An attempt counts as a failure before its password is
 * checked, so concurrent attempts get no more checks than sequential ones. An attempt that is blocked only by
 * undecided ones waits for them. Failures are counted in Redis for all replicas, and in this process: if
 * Redis is unavailable or was flushed, the locks known to this process stay. A success is recorded in Redis,
 * where other processes find it with their next attempt.
 */
export class Lockout {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #local = new LocalLockout(rules);

  constructor(redis: Redis, clock: Clock) {
    this.#redis = redis;
    this.#clock = clock;
  }

  /**
   * Counts an attempt to sign in as `email`, which must be normalised. Returns undefined when the result
   * depends on attempts in flight; retry then.
   */
  async begin(email: string): Promise<Attempt | Locked | undefined> {
    const subject = createHash("sha256").update(email).digest("hex");
    const attempt = randomBytes(9).toString("base64url");
    const now = this.#clock.now().getTime();
    const locallyLockedMs = this.#local.begin(subject, attempt, now);
    const lockedMs = locallyLockedMs === 0 ? await this.#beginShared(subject, attempt, now) : locallyLockedMs;
    if (lockedMs === 0) return this.#attempt(subject, attempt);
    // Rejected by the count of all replicas, so the attempt is not counted here either.
    this.#local.takeBack(subject, attempt);
    return lockedMs === undefined
      ? undefined
      : { isAllowed: false, retryAfterSeconds: Math.ceil(lockedMs / 1000) };
  }

  #attempt(subject: string, attempt: string): Attempt {
    const reporting = (here: () => void, shared: () => Promise<unknown>) => async (): Promise<void> => {
      here();
      await shared().catch(() => 0);
    };
    const key = keyOf(subject);
    const succeed = (): Promise<unknown> =>
      this.#redis.eval(
        succeedScript,
        2,
        key,
        successKeyOf(subject),
        this.#clock.now().getTime(),
        rules.memoryMs,
      );
    return {
      isAllowed: true,
      failed: reporting(
        () => this.#local.fail(subject, attempt),
        () => this.#redis.hdel(key, `u:${attempt}`),
      ),
      succeeded: reporting(() => this.#local.forget(subject), succeed),
      cancelled: reporting(
        () => this.#local.takeBack(subject, attempt),
        () => this.#redis.eval(takeBackScript, 1, key, attempt, rules.failures),
      ),
    };
  }

  async #beginShared(subject: string, attempt: string, now: number): Promise<number | undefined> {
    try {
      const { failures, windowMs, memoryMs, undecidedMs, lockMs } = rules;
      const bounds = [failures, windowMs, memoryMs, undecidedMs, ...lockMs];
      const reply = await this.#redis.eval(
        beginScript,
        2,
        keyOf(subject),
        successKeyOf(subject),
        attempt,
        now,
        ...bounds,
      );
      const [lockedMs, succeededAt] = reply as [number, number];
      this.#local.recordRemoteSuccess(subject, attempt, succeededAt);
      return lockedMs < 0 ? undefined : lockedMs;
    } catch {
      return 0; // Redis is unavailable: only this process counts.
    }
  }
}

function keyOf(subject: string): string {
  return `joypod:lockout:${subject}`;
}

/** Returns the key of the last success, from which other processes learn that their counts are outdated. */
function successKeyOf(subject: string): string {
  return `joypod:signInSuccess:${subject}`;
}

/**
 * One hash per subject: `level`, `lockedAt`, `lockedUntil`, `f:<attempt>` = time of each counted failure, and
 * `u:<attempt>` = the same for each undecided attempt. Returns two numbers: the remaining lock in
 * milliseconds, 0 when this attempt is allowed, or -1 when that depends on undecided ones; and the time of
 * the last success, or -1 when it is unknown. Same rules as LocalLockout.
 */
const beginScript = `
local key, attempt, now, failures, window = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local memory, undecided = tonumber(ARGV[5]), tonumber(ARGV[6])
local succeededAt = tonumber(redis.call('GET', KEYS[2]) or '') or -1
local lockedUntil = tonumber(redis.call('HGET', key, 'lockedUntil') or '0')
local lockedAt = tonumber(redis.call('HGET', key, 'lockedAt') or '-1')
local count, waiting = 0, false
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  local kind, at = string.sub(all[i], 1, 2), tonumber(all[i + 1])
  if kind == 'u:' then
    if at <= now - undecided then redis.call('HDEL', key, all[i]) else waiting = true end
  elseif kind == 'f:' and lockedUntil <= now then
    if at <= now - window or at <= lockedAt then redis.call('HDEL', key, all[i]) else count = count + 1 end
  end
end
if lockedUntil > now then
  if waiting then return { -1, succeededAt } end
  return { lockedUntil - now, succeededAt }
end
redis.call('HSET', key, 'f:' .. attempt, now, 'u:' .. attempt, now)
if count + 1 >= failures then
  local level = redis.call('HINCRBY', key, 'level', 1)
  local steps = #ARGV - 6
  local lock = tonumber(ARGV[6 + math.min(level, steps)])
  redis.call('HSET', key, 'lockedAt', now, 'lockedUntil', now + lock)
end
redis.call('PEXPIRE', key, memory)
return { 0, succeededAt }`;

/** The failures are deleted first, because a Redis without free memory may reject the write of the time. */
const succeedScript = `
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 0`;

const takeBackScript = `
local key, attempt, failures = KEYS[1], ARGV[1], tonumber(ARGV[2])
local at = tonumber(redis.call('HGET', key, 'f:' .. attempt) or '')
local lockedAt = tonumber(redis.call('HGET', key, 'lockedAt') or '-1')
redis.call('HDEL', key, 'f:' .. attempt, 'u:' .. attempt)
if not at or at > lockedAt then return 0 end
local count = 0
for _, field in ipairs(redis.call('HKEYS', key)) do
  if string.sub(field, 1, 2) == 'f:' then count = count + 1 end
end
if count < failures then
  redis.call('HINCRBY', key, 'level', -1)
  redis.call('HSET', key, 'lockedAt', -1, 'lockedUntil', 0)
end
return 0`;

interface Subject {
  /** Time of each counted failure, by attempt. */
  failures: Map<string, number>;
  /** Time of each undecided attempt, by attempt. */
  undecided: Map<string, number>;
  level: number;
  lockedAt: number;
  lockedUntil: number;
  lockedBy: string | undefined;
  /** Last known success at another process. */
  succeededAt: number;
  seenAt: number;
}

const subjectsMax = 10_000;

/** The lockout of one process. Times are milliseconds since the epoch and are passed by the caller. */
export class LocalLockout {
  readonly #rules: LockoutRules;
  readonly #subjects = new Map<string, Subject>();

  constructor(rules: LockoutRules) {
    this.#rules = rules;
  }

  /**
   * Counts an attempt and returns the remaining lock in milliseconds, or 0 when the attempt is allowed.
   * Returns undefined while attempts that count towards the lock may still succeed.
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

  /** Records that the attempt has failed. */
  fail(name: string, attempt: string): void {
    this.#subjects.get(name)?.undecided.delete(attempt);
  }

  /** Removes an attempt that was not made, and the lock that it caused if too few other failures remain. */
  takeBack(name: string, attempt: string): void {
    const subject = this.#subjects.get(name);
    if (subject === undefined) return;
    const at = subject.failures.get(attempt);
    subject.failures.delete(attempt);
    subject.undecided.delete(attempt);
    // Failures that caused a lock are kept until the first attempt after it, and none are added before.
    const causedLock = at !== undefined && at <= subject.lockedAt;
    if (!causedLock || subject.failures.size >= this.#rules.failures) return;
    subject.level -= 1;
    subject.lockedAt = -1;
    subject.lockedUntil = 0;
    subject.lockedBy = undefined;
  }

  /**
   * Records a success at another process before `attempt` began. Clears the failures, the level and the lock
   * up to that time. The attempt still counts, and locks only if there are enough later failures.
   */
  recordRemoteSuccess(name: string, attempt: string, at: number): void {
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

  /** Clears a subject's failures after a success. */
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

  /** Returns the subject. Subjects are kept in order of use, so expired and excess ones are at the front. */
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
