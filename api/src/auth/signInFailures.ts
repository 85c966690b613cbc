import { randomBytes } from "node:crypto";
import { RateLimiterMemory } from "rate-limiter-flexible";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { RateLimitPolicy } from "../http/rateLimits.ts";
import { RedisScript, type Redis } from "../stores/redis.ts";
import { type Attempt, type Locked, undecidedMs } from "./lockout.ts";

/** A refused attempt from a network with too many failures. */
export interface OverLimit extends Locked {
  /** Whether this is the first refused attempt of the window, across replicas. */
  isFirst: boolean;
}

/**
 * Limits the failed sign-ins of a network, for any e-mail addresses, in a window that starts with the first
 * failure. Attempts in flight reserve a share of the limit, so that concurrent attempts get no more checks
 * than sequential ones. An attempt that is blocked only by undecided ones waits for them. Failures are
 * counted in Redis for all replicas; while Redis is unavailable each replica counts separately.
 */
export class SignInFailures {
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #policy: RateLimitPolicy;
  /** Fallback while Redis is unavailable. */
  readonly #local: RateLimiterMemory;
  /** Undecided attempts of this process, by network. */
  readonly #undecided = new Map<string, Set<string>>();

  constructor(redis: Redis, clock: Clock, policy: RateLimitPolicy) {
    this.#redis = redis;
    this.#clock = clock;
    this.#policy = policy;
    this.#local = new RateLimiterMemory({ points: policy.points, duration: policy.windowSeconds });
  }

  /**
   * Begins an attempt from the network `place`. Returns undefined when the result depends on attempts in
   * flight; retry then.
   */
  async begin(place: string): Promise<Attempt | OverLimit | undefined> {
    const attempt = randomBytes(9).toString("base64url");
    return this.#beginShared(place, attempt).catch(() => this.#beginHere(place, attempt));
  }

  async #beginShared(place: string, attempt: string): Promise<Attempt | OverLimit | undefined> {
    const values = [attempt, this.#policy.points, this.#clock.now().getTime(), undecidedMs];
    const [result, leftMs] = (await beginScript.run(this.#redis, keysOf(place), values)) as [
      "allowed" | "waits" | "first over" | "over",
      number,
    ];
    if (result === "waits") return undefined;
    return result === "allowed" ? this.#attempt(place, attempt) : overLimit(result === "first over", leftMs);
  }

  async #beginHere(place: string, attempt: string): Promise<Attempt | OverLimit | undefined> {
    const { points } = this.#policy;
    const failures = (await this.#local.get(place))?.consumedPoints ?? 0;
    if (failures >= points) {
      const { consumedPoints, msBeforeNext } = await this.#local.penalty(place);
      return overLimit(consumedPoints === points + 1, msBeforeNext);
    }
    const inFlight = this.#undecided.get(place)?.size ?? 0;
    return failures + inFlight >= points ? undefined : this.#attempt(place, attempt);
  }

  #attempt(place: string, attempt: string): Attempt {
    const undecided = this.#undecided.get(place) ?? new Set();
    this.#undecided.set(place, undecided.add(attempt));
    const reporting = (shared: () => Promise<unknown>, here: () => unknown) => async (): Promise<void> => {
      await shared().catch(here);
      // Only after the failure is counted; otherwise the attempt would briefly not count at all.
      undecided.delete(attempt);
      if (undecided.size === 0) this.#undecided.delete(place);
    };
    const { points, windowSeconds } = this.#policy;
    const notCounted = reporting(
      () => this.#redis.zrem(undecidedKeyOf(place), attempt),
      () => undefined,
    );
    return {
      isAllowed: true,
      failed: reporting(
        () => failScript.run(this.#redis, keysOf(place), [attempt, points, windowSeconds]),
        () => this.#local.penalty(place),
      ),
      succeeded: notCounted,
      cancelled: notCounted,
    };
  }
}

function overLimit(isFirst: boolean, leftMs: number): OverLimit {
  return { isAllowed: false, isFirst, retryAfterSeconds: Math.max(0, leftMs) / 1000 };
}

function keysOf(place: string): string[] {
  return [`joypod:limit:signInFailures:${place}`, undecidedKeyOf(place)];
}

function undecidedKeyOf(place: string): string {
  return `joypod:signInsUnderWay:${place}`;
}

/**
 * KEYS: the count of failures, and the set of undecided attempts by start time. ARGV: the attempt, the
 * limit's points, the current time, and how long an attempt can be undecided. Refused attempts are counted
 * too, to recognize the first one. Returns the result, and the remaining milliseconds of the window after an
 * attempt over the limit.
 */
const beginScript = new RedisScript(`
local points, now = tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[4])
local failures = tonumber(redis.call('GET', KEYS[1]) or '0')
if failures >= points then
  local isFirst = redis.call('INCR', KEYS[1]) == points + 1
  return { isFirst and 'first over' or 'over', redis.call('PTTL', KEYS[1]) }
end
if failures + redis.call('ZCARD', KEYS[2]) >= points then return { 'waits', 0 } end
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return { 'allowed', 0 }`);

/**
 * KEYS: as above. ARGV: the attempt, the limit's points and its window in seconds. A failure that arrives too
 * late to refuse other attempts is not counted.
 */
const failScript = new RedisScript(`
redis.call('ZREM', KEYS[2], ARGV[1])
if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[2]) then return 0 end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
return 0`);
