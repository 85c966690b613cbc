import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { limits } from "#contracts/limits.ts";
import { clientNetworkOf } from "./clientNetwork.ts";
import { type Redis, RedisScript } from "../stores/redis.ts";

/** Number of requests in a window that starts with the first of them. */
export interface RateLimitPolicy {
  points: number;
  windowSeconds: number;
}

/** Configurable limits, in requests per minute unless the name says otherwise. */
export interface RateLimitConfig {
  /** Limits per network address; failed sign-ins have their own window. */
  auth: {
    readsPerMinute: number;
    postsPerMinute: number;
    failuresPerAddress: number;
    mailRequestsPerAddress: number;
  };
  catalog: { requestsPerMinute: number };
  gameSession: { launchesPerMinute: number; launchesPerHour: number; pollsPerMinute: number };
  saves: { changesPerMinute: number; transfersPerHour: number };
  partner: { requestsPerMinute: number; uploadsPerHour: number };
}

/** Returns the policy of every limit, by name. */
export function policiesOf(config: RateLimitConfig) {
  const minute = (points: number): RateLimitPolicy => ({ points, windowSeconds: 60 });
  const { auth, gameSession, partner } = limits;
  return {
    authReads: minute(config.auth.readsPerMinute),
    authPosts: minute(config.auth.postsPerMinute),
    // Counted by SignInFailures, failures only.
    signInFailures: { points: config.auth.failuresPerAddress, windowSeconds: auth.failureWindowSeconds },
    // Per network address, and per e-mail address whether or not it has an account.
    mailRequests: { points: config.auth.mailRequestsPerAddress, windowSeconds: 3600 },
    accountMails: { points: auth.mailRequestsPerAccountPerHour, windowSeconds: 3600 },
    account: minute(auth.accountChangesPerMinute),
    accountExports: { points: auth.exportsPerHour, windowSeconds: 3600 },
    catalog: minute(config.catalog.requestsPerMinute),
    launch: minute(config.gameSession.launchesPerMinute),
    launchHourly: { points: config.gameSession.launchesPerHour, windowSeconds: 3600 },
    poll: minute(config.gameSession.pollsPerMinute),
    stop: minute(gameSession.stopsPerMinute),
    signalling: minute(gameSession.pollsPerMinute),
    streamTicket: minute(limits.streamTicket.perMinute),
    connectionTest: minute(limits.connectionTest.perMinute),
    partner: minute(config.partner.requestsPerMinute),
    saves: minute(config.saves.changesPerMinute),
    saveTransfers: { points: config.saves.transfersPerHour, windowSeconds: 3600 },
    saveLinks: { points: limits.save.link.createdPerHour, windowSeconds: 3600 },
    saveLinkReads: minute(limits.save.link.readsPerMinute),
    savePicture: minute(limits.save.picture.readsPerMinute),
    picture: minute(limits.picture.readsPerIpPerMinute),
    webhookTest: minute(limits.webhook.testsPerMinute),
    uploadChunk: minute(partner.uploadChunksPerMinute),
    pictureUpload: { points: partner.picturesPerHour, windowSeconds: 3600 },
    unknownKeys: minute(partner.unknownKeysPerIpPerMinute),
    upload: { points: config.partner.uploadsPerHour, windowSeconds: 3600 },
    refusedUpload: {
      points: partner.refusedUploadsFactor * config.partner.uploadsPerHour,
      windowSeconds: 3600,
    },
  } satisfies Record<string, RateLimitPolicy>;
}

export type RateLimitName = keyof ReturnType<typeof policiesOf>;

export interface RateLimitOutcome extends RateLimitPolicy {
  name: RateLimitName;
  /** The key that the request was counted under. */
  key: string;
  isAllowed: boolean;
  /** Whether this is the first refused request of the window, across replicas. */
  isFirstOverLimit: boolean;
  remaining: number;
  /** Until the window ends. */
  resetSeconds: number;
}

/** A Redis key that decides whether a request counts: its value must exist and must not be the closed one. */
export interface Gate {
  key: string;
  closed: string;
  /** Sets the gate, unless it is closed. */
  opening?: { value: string; seconds: number };
}

/**
 * The gate's value (undefined if it has none), or that Redis is unavailable. The request was counted only if
 * the gate is open.
 */
export interface GatedCount {
  gate: string | undefined | typeof redisUnavailable;
  /** Remaining lifetime of that value. */
  gateSeconds: number;
  outcomes: RateLimitOutcome[];
}

/** Marks a gate that could not be read. */
export const redisUnavailable = Symbol("Redis is unavailable");

interface Limit extends RateLimitPolicy {
  name: RateLimitName;
  keyPrefix: string;
  /** Fallback while Redis is unavailable. */
  local: RateLimiterMemory;
}

/**
 * Counts requests in Redis for all replicas; while Redis is unavailable each replica counts separately, so
 * the limits always apply.
 */
export class RateLimits {
  readonly #redis: Redis;
  readonly #limits: ReadonlyMap<RateLimitName, Limit>;
  #givenBackHere: Promise<void> = Promise.resolve();

  constructor(redis: Redis, config: RateLimitConfig) {
    this.#redis = redis;
    const policies = Object.entries(policiesOf(config)) as [RateLimitName, RateLimitPolicy][];
    this.#limits = new Map(
      policies.map(([name, policy]) => [
        name,
        {
          ...policy,
          name,
          keyPrefix: `joypod:limit:${name}:`,
          local: new RateLimiterMemory({
            keyPrefix: name,
            points: policy.points,
            duration: policy.windowSeconds,
          }),
        },
      ]),
    );
  }

  /** Counts one request of `key`. Refused requests do not extend the wait. */
  async consume(name: RateLimitName, key: string): Promise<RateLimitOutcome> {
    const [outcome] = await this.consumeAll([name], key);
    if (outcome === undefined) throw new Error(`The limit ${name} was not counted.`);
    return outcome;
  }

  /** Counts one request of `key` under each limit in this order, up to the first that refuses it. */
  async consumeAll(names: readonly RateLimitName[], key: string): Promise<RateLimitOutcome[]> {
    if (names.length === 0) return [];
    const { gate, outcomes } = await this.consumeIf({ key: "", closed: "" }, names, key);
    return gate === redisUnavailable ? this.consumeHere(names, key) : outcomes;
  }

  /** Reads the gate and, if it is open, counts the request under each limit, in one round trip. */
  async consumeIf(gate: Gate, names: readonly RateLimitName[], key: string): Promise<GatedCount> {
    const wanted = names.map((name) => this.#limitOf(name));
    try {
      const keys = [gate.key, ...wanted.map(({ keyPrefix }) => keyPrefix + key)];
      const values = [
        gate.closed,
        gate.opening?.value ?? "",
        gate.opening?.seconds ?? 0,
        ...wanted.flatMap(({ windowSeconds, points }) => [windowSeconds, points]),
      ];
      const [value, leftMs, ...counts] = (await countScript.run(this.#redis, keys, values)) as [
        string,
        number,
        ...number[],
      ];
      const outcomes =
        counts.length === 0
          ? []
          : wanted.map((limit, index) =>
              outcomeOf(limit, key, counts[2 * index] ?? 0, counts[2 * index + 1] ?? 0),
            );
      return { gate: value === "" ? undefined : value, gateSeconds: Math.max(0, leftMs) / 1000, outcomes };
    } catch {
      return { gate: redisUnavailable, gateSeconds: 0, outcomes: [] };
    }
  }

  /** Counts one request in this process only. */
  async consumeHere(names: readonly RateLimitName[], key: string): Promise<RateLimitOutcome[]> {
    const outcomes: RateLimitOutcome[] = [];
    for (const name of names) {
      const limit = this.#limitOf(name);
      const isRefused = outcomes.some(({ isAllowed }) => !isAllowed);
      const found = isRefused ? await limit.local.get(key) : await consumePoint(limit.local, key);
      outcomes.push(outcomeOf(limit, key, found?.consumedPoints ?? 0, found?.msBeforeNext ?? 0));
    }
    return outcomes;
  }

  /**
   * Refunds one request that should not count, together with all refused ones: the next request is allowed.
   */
  async refund(name: RateLimitName, key: string): Promise<void> {
    const limit = this.#limitOf(name);
    await refundScript
      .run(this.#redis, [limit.keyPrefix + key], [limit.points])
      .catch(() => this.#refundLocally(limit, key));
  }

  /** Sequential, because each refund depends on the current count. */
  #refundLocally({ local, points }: Limit, key: string): Promise<void> {
    return (this.#givenBackHere = this.#givenBackHere.then(async () => {
      const found = await local.get(key);
      if (found === null || found.msBeforeNext <= 0 || found.consumedPoints <= 0) return;
      await local.reward(key, 1 + Math.max(0, found.consumedPoints - points));
    }));
  }

  /** Returns the key of a client address: the whole /64 for IPv6, which belongs to one household. */
  addressKey(address: string): string {
    return clientNetworkOf(address);
  }

  #limitOf(name: RateLimitName): Limit {
    const limit = this.#limits.get(name);
    if (limit === undefined) throw new Error(`There is no rate limit ${name}.`);
    return limit;
  }
}

async function consumePoint(limiter: RateLimiterMemory, key: string): Promise<RateLimiterRes> {
  return limiter.consume(key).catch((rejected: unknown) => {
    if (rejected instanceof RateLimiterRes) return rejected;
    throw rejected;
  });
}

function outcomeOf(
  { name, points, windowSeconds }: Limit,
  key: string,
  count: number,
  leftMs: number,
): RateLimitOutcome {
  return {
    name,
    key,
    points,
    windowSeconds,
    isAllowed: count <= points,
    isFirstOverLimit: count === points + 1,
    remaining: Math.max(0, points - count),
    resetSeconds: Math.max(0, leftMs) / 1000,
  };
}

/**
 * KEYS: the gate (empty for none), then the limits' counters. ARGV: the gate's closed value, the value to
 * open it with and for how many seconds, then each limit's window in seconds and points. Returns the gate's
 * value and the milliseconds it is kept for; when it is open, each count and milliseconds left follow.
 * Counters after one that is over its points are read only.
 */
const countScript = new RedisScript(`
local closed, opening, seconds = ARGV[1], ARGV[2], ARGV[3]
local gate, kept = '', 0
if KEYS[1] ~= '' then
  gate = redis.call('GET', KEYS[1]) or ''
  if opening ~= '' and gate ~= closed then
    redis.call('SET', KEYS[1], opening, 'EX', seconds)
    gate = opening
  end
  if gate == '' or gate == closed then return { gate, 0 } end
  kept = redis.call('PTTL', KEYS[1])
end
local reply, isRefused = { gate, kept }, false
for i = 2, #KEYS do
  local window, points = ARGV[2 * i] * 1000, tonumber(ARGV[2 * i + 1])
  local count = isRefused and tonumber(redis.call('GET', KEYS[i]) or '0') or redis.call('INCR', KEYS[i])
  local left = redis.call('PTTL', KEYS[i])
  if left < 0 and not isRefused then
    left = window
    redis.call('PEXPIRE', KEYS[i], left)
  end
  isRefused = isRefused or count > points
  reply[#reply + 1] = count
  reply[#reply + 1] = left
end
return reply`);

/**
 * KEYS: the limit's counter. ARGV: its points. Counts above the points were refused and are refunded as well;
 * otherwise the refused requests of a burst would block the limit until the window ends. An expired counter
 * is not recreated, because it would never expire.
 */
const refundScript = new RedisScript(`
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count > 0 then return redis.call('DECRBY', KEYS[1], 1 + math.max(0, count - tonumber(ARGV[1]))) end`);
