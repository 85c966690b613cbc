import { createHash, randomBytes } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Redis } from "../stores/redis.ts";
import { LocalLockout } from "./localLockout.ts";
import { undecidedMs, type LockoutRules } from "./lockoutRules.ts";

/** The permission to check a password once; its result must be reported: others may wait for it. */
export interface Attempt {
  isAllowed: true;
  /** The password was wrong. */
  failed(): Promise<void>;
  /** The password was right: all failures are forgotten. */
  succeeded(): Promise<void>;
  /** The password was not checked after all, so the attempt does not count. */
  notMade(): Promise<void>;
}

/** A refused attempt: the address is locked for so long. */
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
 * Locks an e-mail address after too many failures. An attempt is counted as a failure before its password is
 * checked, so that many attempts at once get no more checks than one after another. An attempt that finds
 * only undecided ones in its way waits for them. Failures are counted in Redis for all replicas, and in this
 * process as well: when Redis is unavailable or was emptied, the locks that this process knows of stay. A
 * success leaves its moment in Redis, where each process that counts an attempt learns of it.
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
   * Counts an attempt to sign in as `email`, which must be normalised. Returns undefined when it depends on
   * attempts that are under way: it may be begun again.
   */
  async begin(email: string): Promise<Attempt | Locked | undefined> {
    const subject = createHash("sha256").update(email).digest("hex");
    const attempt = randomBytes(9).toString("base64url");
    const now = this.#clock.now().getTime();
    const locallyLockedMs = this.#local.begin(subject, attempt, now);
    const lockedMs = locallyLockedMs === 0 ? await this.#beginShared(subject, attempt, now) : locallyLockedMs;
    if (lockedMs === 0) return this.#attempt(subject, attempt);
    this.#local.takeBack(subject, attempt); // Refused by the count of all replicas: it was never made here.
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
      notMade: reporting(
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
      this.#local.succeedElsewhere(subject, attempt, succeededAt);
      return lockedMs < 0 ? undefined : lockedMs;
    } catch {
      return 0; // Redis is unavailable: only this process counts.
    }
  }
}

function keyOf(subject: string): string {
  return `joypod:lockout:${subject}`;
}

/**
 * The key of the moment of the last success, by which the other processes learn that their own counts are out
 * of date.
 */
function successKeyOf(subject: string): string {
  return `joypod:signInSuccess:${subject}`;
}

/**
 * One hash per subject: `level`, `lockedAt`, `lockedUntil`, `lockedBy`, `f:<attempt>` = time of each counted
 * failure, and `u:<attempt>` = the same of each attempt that is still undecided. Returns two numbers: for how
 * many milliseconds the subject is still locked, 0 when this attempt may be made, -1 when that depends on
 * undecided ones; and when a password was last right, -1 when that is not known. Same rules as LocalLockout.
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
  redis.call('HSET', key, 'lockedAt', now, 'lockedUntil', now + lock, 'lockedBy', attempt)
end
redis.call('PEXPIRE', key, memory)
return { 0, succeededAt }`;

/** The failures go first: a Redis whose memory is full may not take the moment. */
const succeedScript = `
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 0`;

/**
 * `lockedBy` is for the release before, which lifts a lock by it alone: it must find none that is lifted
 * already.
 */
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
  redis.call('HDEL', key, 'lockedBy')
end
return 0`;
