import { createHash, randomBytes } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import type { Clock } from "#runtime/clock.ts";
import type { Redis } from "../stores/redis.ts";
import { LocalLockout } from "./localLockout.ts";
import type { LockoutRules } from "./lockoutRules.ts";

/** The permission to check a password once; its result must be reported, unless the password was wrong. */
export interface Attempt {
  isAllowed: true;
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
};

/**
 * Locks an e-mail address after too many failures. An attempt is counted as a failure before the password is checked, so
 * that many at once get no more checks than one after another. Failures are counted in Redis for all replicas, and in this process as well:
 * when Redis is unavailable or was emptied, the locks that this process knows of stay.
 */
export class Lockout {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #local = new LocalLockout(rules);

  constructor(redis: Redis, clock: Clock) {
    this.#redis = redis;
    this.#clock = clock;
  }

  /** Counts an attempt to sign in as `email`, which must be normalised. */
  async begin(email: string): Promise<Attempt | Locked> {
    const subject = createHash("sha256").update(email).digest("hex");
    const attempt = randomBytes(9).toString("base64url");
    const now = this.#clock.now().getTime();
    const locallyLockedMs = this.#local.begin(subject, attempt, now);
    const lockedMs = locallyLockedMs > 0 ? locallyLockedMs : await this.#beginShared(subject, attempt, now);
    if (lockedMs > 0) {
      this.#local.takeBack(subject, attempt); // Refused by the count of all replicas: it was never made here.
      return { isAllowed: false, retryAfterSeconds: Math.ceil(lockedMs / 1000) };
    }
    return {
      isAllowed: true,
      succeeded: async () => {
        this.#local.forget(subject);
        await this.#redis.del(keyOf(subject)).catch(() => 0);
      },
      notMade: async () => {
        this.#local.takeBack(subject, attempt);
        await this.#redis.eval(takeBackScript, 1, keyOf(subject), attempt).catch(() => 0);
      },
    };
  }

  async #beginShared(subject: string, attempt: string, now: number): Promise<number> {
    try {
      const { failures, windowMs, memoryMs, lockMs } = rules;
      return Number(await this.#redis.eval(beginScript, 1, keyOf(subject), attempt, now, failures, windowMs, memoryMs, ...lockMs));
    } catch {
      return 0; // Redis is unavailable: only this process counts.
    }
  }
}

function keyOf(subject: string): string {
  return `joypod:lockout:${subject}`;
}

/**
 * One hash per subject: `level`, `lockedAt`, `lockedUntil`, `lockedBy`, and `f:<attempt>` = time of each counted failure.
 * Returns for how many milliseconds the subject is still locked, or 0 when this attempt may be made. Same rules as LocalLockout.
 */
const beginScript = `
local key, attempt, now, failures, window, memory = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local lockedUntil = tonumber(redis.call('HGET', key, 'lockedUntil') or '0')
if lockedUntil > now then return lockedUntil - now end
local lockedAt = tonumber(redis.call('HGET', key, 'lockedAt') or '-1')
local count = 0
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 2) == 'f:' then
    local at = tonumber(all[i + 1])
    if at <= now - window or at <= lockedAt then redis.call('HDEL', key, all[i]) else count = count + 1 end
  end
end
redis.call('HSET', key, 'f:' .. attempt, now)
if count + 1 >= failures then
  local level = redis.call('HINCRBY', key, 'level', 1)
  local steps = #ARGV - 5
  local lock = tonumber(ARGV[5 + math.min(level, steps)])
  redis.call('HSET', key, 'lockedAt', now, 'lockedUntil', now + lock, 'lockedBy', attempt)
end
redis.call('PEXPIRE', key, memory)
return 0`;

const takeBackScript = `
redis.call('HDEL', KEYS[1], 'f:' .. ARGV[1])
if redis.call('HGET', KEYS[1], 'lockedBy') == ARGV[1] then
  redis.call('HINCRBY', KEYS[1], 'level', -1)
  redis.call('HSET', KEYS[1], 'lockedAt', -1, 'lockedUntil', 0)
  redis.call('HDEL', KEYS[1], 'lockedBy')
end
return 0`;
