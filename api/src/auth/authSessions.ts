import type { Clock } from "#runtime/clock.ts";
import type { Postgres } from "../stores/postgres.ts";
import { redisUnavailable, type RateLimitName, type RateLimitOutcome, type RateLimits } from "../http/rateLimits.ts";
import type { Redis } from "../stores/redis.ts";
import { announceRevoked, authSessionCacheKey, revoked, revokeRowsOf } from "./revocations.ts";
import { authSessionIdOf, createSid } from "./tokens.ts";

const cacheSeconds = 60;
/** This process remembers its own sign-outs for longer than a stale "active" can live in the cache. */
const revokedMemory = { milliseconds: 2 * cacheSeconds * 1000, entries: 10_000 };

export interface AuthSessionsOptions {
  postgres: Postgres;
  redis: Redis;
  rateLimits: RateLimits;
  clock: Clock;
  /** Of a token that is not renewed. */
  lifetimeSeconds: number;
  /** Of a sign-in, however often it is renewed; undefined for no end. */
  absoluteLifetimeSeconds: number | undefined;
}

/** A request of a sign-in that holds. */
export interface Admission {
  outcomes: RateLimitOutcome[];
  /** When the sign-in ends, however often it is renewed; undefined for no end. */
  endsAt: Date | undefined;
}

/** Sign-ins, kept in the database so that a sign-out is final; Redis only saves asking for each request. */
export class AuthSessions {
  readonly #postgres: Postgres;
  readonly #redis: Redis;
  readonly #rateLimits: RateLimits;
  readonly #clock: Clock;
  readonly #lifetimeSeconds: number;
  readonly #absoluteLifetimeSeconds: number | undefined;
  /** By id, when it was revoked: holds even where Redis could not be told. */
  readonly #revokedHere = new Map<string, number>();

  constructor({ postgres, redis, rateLimits, clock, lifetimeSeconds, absoluteLifetimeSeconds }: AuthSessionsOptions) {
    this.#postgres = postgres;
    this.#redis = redis;
    this.#rateLimits = rateLimits;
    this.#clock = clock;
    this.#lifetimeSeconds = lifetimeSeconds;
    this.#absoluteLifetimeSeconds = absoluteLifetimeSeconds;
  }

  /** Begins a sign-in: its sid, and when it ends however often it is renewed. */
  async create(userId: string): Promise<{ sid: string; endsAt: Date | undefined }> {
    const sid = createSid();
    const startedAt = this.#clock.now();
    await this.#postgres.pool.query({
      name: "authSession.create",
      text: "INSERT INTO auth_sessions (id, user_id, created_at) VALUES ($1, $2, $3)",
      values: [authSessionIdOf(sid), userId, startedAt],
    });
    return { sid, endsAt: this.#endOf(startedAt.getTime() / 1000) };
  }

  /**
   * Counts a request of the sign-in's user under the limits; undefined, and nothing is counted, when the sign-in is over. One
   * question to Redis does both; once a minute the database is asked besides. Throws when neither can say.
   */
  async admit(id: string, userId: string, limits: readonly RateLimitName[]): Promise<Admission | undefined> {
    if (this.#revokedHere.has(id)) return undefined;
    const gate = { key: authSessionCacheKey(id), closed: revoked };
    const counted = await this.#rateLimits.consumeIf(gate, limits, userId);
    if (counted.gate === revoked) return undefined;
    const cached = typeof counted.gate === "string" ? Number(counted.gate) : NaN;
    if (!Number.isNaN(cached)) return this.#admission(cached, counted.outcomes);
    const startedAt = await this.#touch(id, userId);
    if (startedAt === undefined) return undefined;
    if (counted.gate === redisUnavailable) return this.#admission(startedAt, await this.#rateLimits.consumeHere(limits, userId));
    // The cache holds what we never wrote: it has counted, and says nothing.
    if (counted.gate !== undefined) return this.#admission(startedAt, counted.outcomes);
    const again = await this.#rateLimits.consumeIf({ ...gate, opening: { value: String(startedAt), seconds: cacheSeconds } }, limits, userId);
    // A sign-out that happened meanwhile has set the gate, and keeps it.
    if (again.gate === revoked) return undefined;
    return this.#admission(startedAt, again.gate === redisUnavailable ? await this.#rateLimits.consumeHere(limits, userId) : again.outcomes);
  }

  #admission(startedAt: number, outcomes: RateLimitOutcome[]): Admission | undefined {
    const endsAt = this.#endOf(startedAt);
    return endsAt !== undefined && endsAt <= this.#clock.now() ? undefined : { outcomes, endsAt };
  }

  /** Ends one sign-in, first in the database: what is in the cache alone could be lost. */
  async revoke(id: string): Promise<void> {
    await this.#postgres.pool.query({
      name: "authSession.revoke",
      text: "UPDATE auth_sessions SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL",
      values: [id],
    });
    await this.#announceRevoked([id]);
  }

  /** Ends every sign-in of a user, for a change of password or a disabled account. */
  async revokeAllOf(userId: string): Promise<void> {
    await this.#announceRevoked(await revokeRowsOf(this.#postgres.pool, userId));
  }

  /**
   * Marks the sign-in as seen, unless it is over, and gives the second that it began in; with the cache in front this happens
   * once a minute at most.
   */
  async #touch(id: string, userId: string): Promise<number | undefined> {
    const { rows: [row] } = await this.#postgres.pool.query<{ startedAt: number }>({
      name: "authSession.touch",
      text: `UPDATE auth_sessions SET last_seen_at = now() FROM users
             WHERE auth_sessions.id = $1 AND auth_sessions.user_id = $2 AND auth_sessions.revoked_at IS NULL
               AND users.id = auth_sessions.user_id AND users.disabled_at IS NULL
             RETURNING floor(extract(epoch FROM auth_sessions.created_at))::float8 AS "startedAt"`,
      values: [id, userId],
    });
    return row?.startedAt;
  }

  #endOf(startedAtSeconds: number): Date | undefined {
    if (this.#absoluteLifetimeSeconds === undefined) return undefined;
    return new Date((Math.floor(startedAtSeconds) + this.#absoluteLifetimeSeconds) * 1000);
  }

  async #announceRevoked(ids: string[]): Promise<void> {
    const now = this.#clock.monotonicMs();
    for (const [id, at] of this.#revokedHere) {
      if (now - at < revokedMemory.milliseconds && this.#revokedHere.size < revokedMemory.entries) break;
      this.#revokedHere.delete(id);
    }
    for (const id of ids) this.#revokedHere.set(id, now);
    await announceRevoked(this.#redis, ids, this.#lifetimeSeconds);
  }
}
