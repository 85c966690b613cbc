import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { limits } from "#contracts/limits.ts";
import type { Config } from "../config.ts";
import type { Redis } from "./redis.ts";

/** So many requests in a window that starts with the first of them. */
interface RateLimitPolicy {
  points: number;
  windowSeconds: number;
}

/** Every limit there is, by name. */
function policiesOf(config: Config) {
  const minute = (points: number): RateLimitPolicy => ({ points, windowSeconds: 60 });
  const { auth, gameSession } = limits;
  return {
    authReads: minute(auth.readsPerIpPerMinute),
    authPosts: minute(auth.postsPerIpPerMinute),
    signInFailures: { points: auth.failuresPerIp, windowSeconds: auth.failureWindowSeconds },
    catalog: minute(config.catalog.requestsPerMinute),
    launch: minute(config.gameSession.launchesPerMinute),
    launchHourly: { points: config.gameSession.launchesPerHour, windowSeconds: 3600 },
    poll: minute(gameSession.pollsPerMinute),
    stop: minute(gameSession.stopsPerMinute),
    signalling: minute(gameSession.pollsPerMinute),
    partner: minute(config.partner.requestsPerMinute),
    upload: { points: config.partner.uploadsPerHour, windowSeconds: 3600 },
  } satisfies Record<string, RateLimitPolicy>;
}

export type RateLimitName = keyof ReturnType<typeof policiesOf>;

export interface RateLimitOutcome extends RateLimitPolicy {
  name: RateLimitName;
  isAllowed: boolean;
  remaining: number;
  /** Until the window ends. */
  resetSeconds: number;
}

/** Counts in Redis for all replicas together; while Redis is away each counts for itself, so nothing is ever unlimited. */
export class RateLimits {
  readonly #limiters: Map<RateLimitName, RateLimiterRedis>;

  constructor(redis: Redis, config: Config) {
    const policies = Object.entries(policiesOf(config)) as [RateLimitName, RateLimitPolicy][];
    this.#limiters = new Map(policies.map(([name, { points, windowSeconds: duration }]) => [name, new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: `joypod:limit:${name}`,
      points,
      duration,
      insuranceLimiter: new RateLimiterMemory({ keyPrefix: name, points, duration }),
    })]));
  }

  /** Counts one request of `key`; a refused one does not make the wait longer. */
  async consume(name: RateLimitName, key: string): Promise<RateLimitOutcome> {
    const limiter = this.#limiterOf(name);
    try {
      return toOutcome(name, limiter, await limiter.consume(key), true);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      return toOutcome(name, limiter, refusal, false);
    }
  }

  /** Takes one request back, for what turned out not to count. */
  async giveBack(name: RateLimitName, key: string): Promise<void> {
    await this.#limiterOf(name).reward(key);
  }

  /** The key of a client's address: a whole /64 for IPv6, which one household commands. */
  addressKey(address: string): string {
    return networkOf(address);
  }

  #limiterOf(name: RateLimitName): RateLimiterRedis {
    const limiter = this.#limiters.get(name);
    if (limiter === undefined) throw new Error(`There is no rate limit ${name}.`);
    return limiter;
  }
}

function toOutcome(name: RateLimitName, limiter: RateLimiterRedis, result: RateLimiterRes, isAllowed: boolean): RateLimitOutcome {
  return {
    name,
    isAllowed,
    points: limiter.points,
    windowSeconds: limiter.duration,
    remaining: Math.max(0, result.remainingPoints),
    resetSeconds: Math.max(0, result.msBeforeNext) / 1000,
  };
}

/** `address` without what one subscriber can change at will: an IPv4 address as it is, an IPv6 one down to its /64. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
  if (!plain.includes(":")) return plain;
  const [head = "", tail = ""] = plain.split("::", 2);
  const left = head === "" ? [] : head.split(":");
  const right = tail === "" ? [] : tail.split(":");
  const groups = plain.includes("::") ? [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0"), ...right] : left;
  return `${groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, "").toLowerCase()).join(":")}::/64`;
}
