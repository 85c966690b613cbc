import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Postgres } from "../stores/postgres.ts";
import { unauthorized } from "../errors.ts";
import {
  redisUnavailable,
  type RateLimitName,
  type RateLimitOutcome,
  type RateLimits,
} from "../http/rateLimits.ts";
import type { DatabaseOutages } from "../stores/databaseFailure.ts";
import type { Queryable } from "../stores/queryable.ts";
import type { Redis } from "../stores/redis.ts";
import {
  findAuthSessions,
  insertAuthSession,
  insertAuthSessionIfUnchanged,
  updateAuthSessionRevoked,
  updateAuthSessionSeen,
  updateAuthSessionsRevoked,
  updateOwnAuthSessionRevoked,
  type AuthSessionRow,
  type NewAuthSessionRow,
  deleteOldAuthSessions,
} from "./authSessionQueries.ts";
import type { SignInPlace } from "./signInPlace.ts";
import { authSessionIdOf, createSid } from "./tokens.ts";
import type { CheckedUser } from "./userQueries.ts";
import { deleteOldRows } from "../stores/sweepRows.ts";

/** A cache entry is valid for this long without a query to the database. */
const cacheSeconds = 60;
/**
 * Additional lifetime of a cache entry, for outages of the database. Each process also remembers sign-ins for
 * this long, in case Redis is unavailable as well.
 */
const outageSeconds = 3600;
/** Long enough for the Redis client to drop a connection after three timeouts and to reconnect. */
const redisRetries = { count: 8, pauseMs: 250 };
/** Number of recently used sign-ins that one process remembers. */
const rememberedMax = 10_000;
const rememberedAgainMs = 10_000;
/** Sign-outs of this process are remembered for longer than a stale cache entry can live. */
const revokedMemory = { milliseconds: 2 * cacheSeconds * 1000, entries: 10_000 };

/** Stores and lifetimes of sign-ins. */
interface AuthSessionsOptions {
  postgres: Postgres;
  redis: Redis;
  rateLimits: RateLimits;
  databaseOutages: DatabaseOutages;
  clock: Clock;
  /** Lifetime of a token that is not renewed. */
  lifetimeSeconds: number;
  /** Maximum lifetime of a sign-in; undefined for no limit. */
  absoluteLifetimeSeconds: number | undefined;
}

/** A new sign-in. */
export interface NewAuthSession {
  sid: string;
  /** End of the sign-in, regardless of renewals; undefined for no end. */
  endsAt: Date | undefined;
}

/** An admitted request of a valid sign-in. */
interface Admission {
  outcomes: RateLimitOutcome[];
  /** When the sign-in began. */
  startedAt: Date;
  /** End of the sign-in, regardless of renewals; undefined for no end. */
  endsAt: Date | undefined;
}

/** Stores sign-ins in the database, so a sign-out is final. Redis caches them for most requests. */
export class AuthSessions {
  readonly #postgres: Postgres;
  readonly #redis: Redis;
  readonly #rateLimits: RateLimits;
  readonly #databaseOutages: DatabaseOutages;
  readonly #clock: Clock;
  readonly #lifetimeSeconds: number;
  readonly #absoluteLifetimeSeconds: number | undefined;
  /** Time of each sign-out of this process, by id, including those that Redis missed. */
  readonly #revokedHere = new Map<string, number>();
  /**
   * Sign-ins that this process has admitted, by id, newest last: the start of each, and the time of the last
   * check.
   */
  readonly #admittedHere = new Map<string, { startedAt: number; atMs: number }>();

  constructor({
    postgres,
    redis,
    rateLimits,
    databaseOutages,
    clock,
    lifetimeSeconds,
    absoluteLifetimeSeconds,
  }: AuthSessionsOptions) {
    this.#postgres = postgres;
    this.#redis = redis;
    this.#rateLimits = rateLimits;
    this.#databaseOutages = databaseOutages;
    this.#clock = clock;
    this.#lifetimeSeconds = lifetimeSeconds;
    this.#absoluteLifetimeSeconds = absoluteLifetimeSeconds;
  }

  /**
   * Creates a sign-in, at `place` if known.
   *
   * @throws unauthorized when the account is disabled or deleted
   */
  async create(userId: string, place?: SignInPlace): Promise<NewAuthSession> {
    const created = await this.#createIfUnchanged(userId, place, undefined);
    if (created === undefined) throw unauthorized();
    return created;
  }

  /**
   * Creates a sign-in after a password check. Returns undefined when the account's password hash has changed
   * since, or when it is disabled or deleted: an event that ended all its sign-ins must end this one as
   * well.
   */
  createByPassword(
    { id, passwordHash }: Pick<CheckedUser, "id" | "passwordHash">,
    place: SignInPlace,
  ): Promise<NewAuthSession | undefined> {
    return this.#createIfUnchanged(id, place, passwordHash);
  }

  /**
   * Replaces all sign-ins of the user by a new one, so copies of earlier cookies stop working. Its start time
   * is `startedAt`, by default now. Announce `ended` after the commit.
   */
  async replaceAll(
    transaction: Queryable,
    {
      userId,
      place,
      startedAt = this.#clock.now(),
    }: { userId: string; place: SignInPlace; startedAt?: Date },
  ): Promise<{ created: NewAuthSession; ended: string[] }> {
    const ended = await updateAuthSessionsRevoked(transaction, userId);
    const { row, created } = this.#newAuthSession({ userId, place, startedAt });
    await insertAuthSession(transaction, row);
    return { created, ended };
  }

  /** Returns the user's sign-ins that have not expired, most recently used first. */
  async list(userId: string): Promise<AuthSessionRow[]> {
    const rows = await findAuthSessions(this.#postgres.pool, userId, this.#lifetimeSeconds);
    const now = this.#clock.now();
    return rows.filter(({ startedAt }) => (this.#endOf(startedAt.getTime() / 1000) ?? now) >= now);
  }

  /**
   * Admits a request and counts it against the user's limits, in one Redis command. Returns undefined, and
   * counts nothing, when the sign-in has ended. The database is queried once a minute and records the
   * `place`. During a database outage nobody can sign out, so the last known state stays valid.
   *
   * @throws Error when neither store is available
   */
  async admit(
    id: string,
    userId: string,
    limits: readonly RateLimitName[],
    place?: () => SignInPlace,
  ): Promise<Admission | undefined> {
    if (this.#revokedHere.has(id)) return undefined;
    const gate = { key: authSessionCacheKey(id), closed: revoked };
    const counted = await this.#rateLimits.consumeIf(gate, limits, userId);
    if (counted.gate === revoked) return undefined;
    const cached = typeof counted.gate === "string" ? Number(counted.gate) : NaN;
    const isCached = !Number.isNaN(cached);
    if (isCached && counted.gateSeconds > outageSeconds) {
      this.#remember(id, cached);
      return this.#admission(cached, counted.outcomes);
    }
    let query: Promise<number | undefined> | undefined;
    const ask = (): Promise<number | undefined> =>
      (query ??= updateAuthSessionSeen(this.#postgres.pool, id, userId, place?.()));
    const known = isCached ? cached : this.#remembered(id);
    const isPossiblyKnown = known !== undefined || counted.gate === redisUnavailable;
    const startedAt = isPossiblyKnown
      ? await this.#databaseOutages.orElse(ask, async () => known ?? (await this.#retryRedis(gate.key, ask)))
      : await ask();
    if (startedAt === undefined) {
      this.#admittedHere.delete(id);
      // Redis missed the sign-out, and its entry would count as valid during a database outage.
      if (isCached) await this.announceRevoked([id]);
      return undefined;
    }
    this.#remember(id, startedAt);
    if (counted.gate === redisUnavailable)
      return this.#admission(startedAt, await this.#rateLimits.consumeHere(limits, userId));
    // If the gate had a value, Redis has already counted the request.
    const isCounted = counted.gate !== undefined;
    const opening = { value: String(startedAt), seconds: cacheSeconds + outageSeconds };
    const again = await this.#rateLimits.consumeIf({ ...gate, opening }, isCounted ? [] : limits, userId);
    // A concurrent sign-out has closed the gate, and it stays closed.
    if (again.gate === revoked) return undefined;
    if (isCounted) return this.#admission(startedAt, counted.outcomes);
    return this.#admission(
      startedAt,
      again.gate === redisUnavailable ? await this.#rateLimits.consumeHere(limits, userId) : again.outcomes,
    );
  }

  /**
   * Returns whether an admitted sign-in has ended since, according to this process and Redis, where every end
   * is announced. The database is not queried, so a finished request waits at most for Redis. If Redis is
   * unavailable, the sign-in counts as active.
   */
  async hasEnded(id: string): Promise<boolean> {
    if (this.#revokedHere.has(id)) return true;
    return this.#redis.get(authSessionCacheKey(id)).then(
      (value) => value === revoked,
      () => false,
    );
  }

  /**
   * Retries Redis for a sign-in that this process has not seen: during a database outage only Redis knows it.
   * Returns the start of the sign-in from Redis or, in the end, from the database; undefined when it has
   * ended.
   */
  async #retryRedis(key: string, ask: () => Promise<number | undefined>): Promise<number | undefined> {
    for (let look = 0; look < redisRetries.count; look++) {
      try {
        const value = await this.#redis.get(key);
        if (value === null) return await ask();
        return value === revoked ? undefined : Number(value);
      } catch {
        await this.#clock.sleep(redisRetries.pauseMs);
      }
    }
    return ask();
  }

  #remember(id: string, startedAt: number): void {
    const atMs = this.#clock.monotonicMs();
    // Without this bound, each request would delete and re-add its entry, and the map would be rehashed
    // constantly.
    if (atMs - (this.#admittedHere.get(id)?.atMs ?? -Infinity) < rememberedAgainMs) return;
    this.#admittedHere.delete(id);
    this.#admittedHere.set(id, { startedAt, atMs });
    for (const [oldest] of this.#admittedHere) {
      if (this.#admittedHere.size <= rememberedMax) break;
      this.#admittedHere.delete(oldest);
    }
  }

  #remembered(id: string): number | undefined {
    const admitted = this.#admittedHere.get(id);
    return admitted !== undefined && this.#clock.monotonicMs() - admitted.atMs < outageSeconds * 1000
      ? admitted.startedAt
      : undefined;
  }

  #admission(startedAt: number, outcomes: RateLimitOutcome[]): Admission | undefined {
    const endsAt = this.#endOf(startedAt);
    return endsAt !== undefined && endsAt <= this.#clock.now()
      ? undefined
      : { outcomes, endsAt, startedAt: new Date(startedAt * 1000) };
  }

  /** Ends a sign-in, first in the database, because Redis could lose it. */
  async revoke(id: string): Promise<void> {
    await updateAuthSessionRevoked(this.#postgres.pool, id);
    await this.announceRevoked([id]);
  }

  /** Ends a sign-in of the user. Returns false if the id is unknown or has ended. */
  async revokeOwn(id: string, userId: string): Promise<boolean> {
    const isRevoked = await updateOwnAuthSessionRevoked(this.#postgres.pool, id, userId);
    if (isRevoked) await this.announceRevoked([id]);
    return isRevoked;
  }

  /** Ends every sign-in of a user, after a change of password or when the account is disabled. */
  async revokeAllOf(userId: string): Promise<void> {
    await this.announceRevoked(await updateAuthSessionsRevoked(this.#postgres.pool, userId));
  }

  #endOf(startedAtSeconds: number): Date | undefined {
    if (this.#absoluteLifetimeSeconds === undefined) return undefined;
    return new Date((Math.floor(startedAtSeconds) + this.#absoluteLifetimeSeconds) * 1000);
  }

  async #createIfUnchanged(
    userId: string,
    place: SignInPlace | undefined,
    checkedHash: string | undefined,
  ): Promise<NewAuthSession | undefined> {
    const { row, created } = this.#newAuthSession({ userId, place, startedAt: this.#clock.now() });
    return (await insertAuthSessionIfUnchanged(this.#postgres.pool, row, checkedHash)) ? created : undefined;
  }

  #newAuthSession(of: Omit<NewAuthSessionRow, "id">): { row: NewAuthSessionRow; created: NewAuthSession } {
    const sid = createSid();
    return {
      row: { ...of, id: authSessionIdOf(sid) },
      created: { sid, endsAt: this.#endOf(of.startedAt.getTime() / 1000) },
    };
  }

  /** Announces revoked sign-ins to all processes. */
  async announceRevoked(ids: readonly string[]): Promise<void> {
    const now = this.#clock.monotonicMs();
    for (const [id, at] of this.#revokedHere) {
      if (now - at < revokedMemory.milliseconds && this.#revokedHere.size < revokedMemory.entries) break;
      this.#revokedHere.delete(id);
    }
    for (const id of ids) {
      this.#revokedHere.set(id, now);
      this.#admittedHere.delete(id);
    }
    await announceRevoked(this.#redis, ids, this.#lifetimeSeconds);
  }
}

/** Cache value of an ended sign-in. The value of an active sign-in is its start in seconds of the epoch. */
const revoked = "revoked";

/** Returns the cache key of a sign-in. */
export function authSessionCacheKey(id: string): string {
  return `joypod:authSession:${id}`;
}

/**
 * Marks sign-ins as ended in the cache. Returns false when that failed, in which case they may stay active
 * for up to a minute.
 */
export async function announceRevoked(
  redis: Redis,
  ids: readonly string[],
  seconds: number,
): Promise<boolean> {
  const outcomes = await Promise.all(
    ids.map((id) =>
      redis.set(authSessionCacheKey(id), revoked, "EX", seconds).then(
        () => true,
        () => false,
      ),
    ),
  );
  return !outcomes.includes(false);
}

/** What sweeping sign-ins needs. */
export interface SweepAuthSessionsDeps {
  config: { auth: { tokenLifetimeSeconds: number } };
  postgres: Postgres;
}

/** Margin for sign-ins whose last use was not recorded because of a database outage. */
const graceSeconds = 7 * 86_400;

/** Deletes sign-ins whose cookies have all expired. */
export async function sweepAuthSessions({ postgres, config }: SweepAuthSessionsDeps): Promise<void> {
  const seconds = config.auth.tokenLifetimeSeconds + graceSeconds;
  await deleteOldRows((max) => deleteOldAuthSessions(postgres.pool, seconds, max));
}
