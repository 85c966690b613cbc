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
  insertAuthSessionOfUnchanged,
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

/** For so long an entry of the cache is believed without asking the database. */
const cacheSeconds = 60;
/**
 * For so much longer the entry is kept, to be believed while the database is unavailable. Each process
 * remembers it as long, in case Redis is unavailable, too.
 */
const outageSeconds = 3600;
/**
 * Together long enough for Redis' client to give up a connection after three timeouts and to make another
 * one.
 */
const laterLooks = { count: 8, pauseMs: 250 };
/** Sign-ins that one process remembers, the ones used last. */
const rememberedMax = 10_000;
const rememberedAgainMs = 10_000;
/** This process remembers the sign-outs it made for longer than the cache can call them active. */
const revokedMemory = { milliseconds: 2 * cacheSeconds * 1000, entries: 10_000 };

/** What sign-ins are kept in, and for how long. */
interface AuthSessionsOptions {
  postgres: Postgres;
  redis: Redis;
  rateLimits: RateLimits;
  databaseOutages: DatabaseOutages;
  clock: Clock;
  /** The lifetime of a token that is not renewed. */
  lifetimeSeconds: number;
  /** The lifetime of a sign-in, however often it is renewed; undefined for no end. */
  absoluteLifetimeSeconds: number | undefined;
}

/** A sign-in that has just begun. */
export interface NewAuthSession {
  sid: string;
  /** When it ends, however often it is renewed; undefined for no end. */
  endsAt: Date | undefined;
}

/** A request of a valid sign-in. */
interface Admission {
  outcomes: RateLimitOutcome[];
  /** When the sign-in began. */
  startedAt: Date;
  /** When the sign-in ends, however often it is renewed; undefined for no end. */
  endsAt: Date | undefined;
}

/**
 * Keeps sign-ins in the database, so that a sign-out is final; Redis only spares most requests the question
 * to it.
 */
export class AuthSessions {
  readonly #postgres: Postgres;
  readonly #redis: Redis;
  readonly #rateLimits: RateLimits;
  readonly #databaseOutages: DatabaseOutages;
  readonly #clock: Clock;
  readonly #lifetimeSeconds: number;
  readonly #absoluteLifetimeSeconds: number | undefined;
  /** When each was revoked, by id: also those that Redis did not learn of. */
  readonly #revokedHere = new Map<string, number>();
  /**
   * Sign-ins that this process has admitted, by id, the newest last: when each began, and when this process
   * learned that.
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
   * Begins a sign-in, at `place` if that is known. Throws unauthorized for an account that is disabled, or
   * deleted.
   */
  async create(userId: string, place?: SignInPlace): Promise<NewAuthSession> {
    const begun = await this.#beginOfUnchanged(userId, place, undefined);
    if (begun === undefined) throw unauthorized();
    return begun;
  }

  /**
   * Begins a sign-in by a password that was right. Returns undefined when the account has another password
   * hash by now, or is disabled, or deleted: what ended all its sign-ins meanwhile must end this one, too.
   */
  createByPassword(
    { id, passwordHash }: Pick<CheckedUser, "id" | "passwordHash">,
    place: SignInPlace,
  ): Promise<NewAuthSession | undefined> {
    return this.#beginOfUnchanged(id, place, passwordHash);
  }

  /**
   * Revokes every sign-in of the user and begins one in their place, so that copies of every cookie so far
   * are worthless; it began at `startedAt`, or now. `ended` has to be announced after the commit.
   */
  async replaceAll(
    transaction: Queryable,
    {
      userId,
      place,
      startedAt = this.#clock.now(),
    }: { userId: string; place: SignInPlace; startedAt?: Date },
  ): Promise<{ begun: NewAuthSession; ended: string[] }> {
    const ended = await updateAuthSessionsRevoked(transaction, userId);
    const { row, begun } = this.#newAuthSession({ userId, place, startedAt });
    await insertAuthSession(transaction, row);
    return { begun, ended };
  }

  /** Returns the user's sign-ins that a browser can still come with, the one used last first. */
  async list(userId: string): Promise<AuthSessionRow[]> {
    const rows = await findAuthSessions(this.#postgres.pool, userId, this.#lifetimeSeconds);
    const now = this.#clock.now();
    return rows.filter(({ startedAt }) => (this.#endOf(startedAt.getTime() / 1000) ?? now) >= now);
  }

  /**
   * Counts a request of the sign-in's user under the limits; returns undefined, and counts nothing, when the
   * sign-in is over. One command to Redis does both. Once a minute the database is asked as well, and told
   * the `place`. While the database is unavailable nobody can sign out, so a sign-in that was good when it
   * was last asked counts as good. Throws when neither is available.
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
    let asked: Promise<number | undefined> | undefined;
    const ask = (): Promise<number | undefined> =>
      (asked ??= updateAuthSessionSeen(this.#postgres.pool, id, userId, place?.()));
    const known = isCached ? cached : this.#remembered(id);
    const mayBeKnown = known !== undefined || counted.gate === redisUnavailable;
    const startedAt = mayBeKnown
      ? await this.#databaseOutages.orElse(ask, async () => known ?? (await this.#lookAgain(gate.key, ask)))
      : await ask();
    if (startedAt === undefined) {
      this.#admittedHere.delete(id);
      // Redis missed the end: its entry would be believed again while the database is unavailable.
      if (isCached) await this.announceRevoked([id]);
      return undefined;
    }
    this.#remember(id, startedAt);
    if (counted.gate === redisUnavailable)
      return this.#admission(startedAt, await this.#rateLimits.consumeHere(limits, userId));
    // Where the gate had any value Redis has counted the request already.
    const isCounted = counted.gate !== undefined;
    const opening = { value: String(startedAt), seconds: cacheSeconds + outageSeconds };
    const again = await this.#rateLimits.consumeIf({ ...gate, opening }, isCounted ? [] : limits, userId);
    // A sign-out meanwhile has closed the gate, and it stays closed.
    if (again.gate === revoked) return undefined;
    if (isCounted) return this.#admission(startedAt, counted.outcomes);
    return this.#admission(
      startedAt,
      again.gate === redisUnavailable ? await this.#rateLimits.consumeHere(limits, userId) : again.outcomes,
    );
  }

  /**
   * Returns whether an admitted sign-in has ended since, as far as this process and Redis know: every end is
   * announced there. The database is not asked, so that a request whose work is done waits for Redis at most.
   * While Redis is unavailable the sign-in counts as going on.
   */
  async hasEnded(id: string): Promise<boolean> {
    if (this.#revokedHere.has(id)) return true;
    return this.#redis.get(authSessionCacheKey(id)).then(
      (value) => value === revoked,
      () => false,
    );
  }

  /**
   * Asks Redis again, which was too slow or had no connection, about a sign-in that this process has not seen
   * before: while the database is unavailable Redis alone knows it. Returns when the sign-in began, by Redis
   * or else by the database after all; undefined when it has ended.
   */
  async #lookAgain(key: string, ask: () => Promise<number | undefined>): Promise<number | undefined> {
    for (let look = 0; look < laterLooks.count; look++) {
      try {
        const value = await this.#redis.get(key);
        if (value === null) return await ask();
        return value === revoked ? undefined : Number(value);
      } catch {
        await this.#clock.sleep(laterLooks.pauseMs);
      }
    }
    return ask();
  }

  #remember(id: string, startedAt: number): void {
    const atMs = this.#clock.monotonicMs();
    // Without this bound each request would delete and add its entry, and the map would be grown and
    // compacted all the time.
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

  /** Ends one sign-in, first in the database: Redis alone could lose the end. */
  async revoke(id: string): Promise<void> {
    await updateAuthSessionRevoked(this.#postgres.pool, id);
    await this.announceRevoked([id]);
  }

  /** Ends one sign-in of the user; returns false when they have none of that id that goes on. */
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

  async #beginOfUnchanged(
    userId: string,
    place: SignInPlace | undefined,
    checkedHash: string | undefined,
  ): Promise<NewAuthSession | undefined> {
    const { row, begun } = this.#newAuthSession({ userId, place, startedAt: this.#clock.now() });
    return (await insertAuthSessionOfUnchanged(this.#postgres.pool, row, checkedHash)) ? begun : undefined;
  }

  #newAuthSession(of: Omit<NewAuthSessionRow, "id">): { row: NewAuthSessionRow; begun: NewAuthSession } {
    const sid = createSid();
    return {
      row: { ...of, id: authSessionIdOf(sid) },
      begun: { sid, endsAt: this.#endOf(of.startedAt.getTime() / 1000) },
    };
  }

  /** Makes every process refuse sign-ins that the database calls revoked. */
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

/**
 * The cache's value for a sign-in that is over; for others it is the second of the epoch in which they began.
 */
const revoked = "revoked";

/** Returns the cache's key for a sign-in. */
export function authSessionCacheKey(id: string): string {
  return `joypod:authSession:${id}`;
}

/**
 * Tells the cache which sign-ins have ended; resolves with false when it did not learn it and may call them
 * active for up to a minute more.
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

/**
 * So long no cookie of a sign-in outlives its lifetime, also where an outage of the database kept its last
 * use from being noted.
 */
const graceSeconds = 7 * 86_400;

/** Deletes sign-ins, ended or not, that nobody has a valid cookie of any more. */
export async function sweepAuthSessions({ postgres, config }: SweepAuthSessionsDeps): Promise<void> {
  const seconds = config.auth.tokenLifetimeSeconds + graceSeconds;
  await deleteOldRows((max) => deleteOldAuthSessions(postgres.pool, seconds, max));
}
