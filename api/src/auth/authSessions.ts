import type { Clock } from "#kube/clock.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Redis } from "../stores/redis.ts";
import { authSessionIdOf, createSid } from "./tokens.ts";

const cacheSeconds = 60;
/** This process remembers its own sign-outs for longer than a stale "active" can live in the cache. */
const revokedMemory = { milliseconds: 2 * cacheSeconds * 1000, entries: 10_000 };
const active = "1";
const revoked = "0";

/** Sign-ins, kept in the database so that a sign-out is final; Redis only saves asking for each request. */
export class AuthSessions {
  readonly #postgres: Postgres;
  readonly #redis: Redis;
  readonly #clock: Clock;
  readonly #lifetimeSeconds: number;
  /** By id, when it was revoked: holds even where Redis could not be told. */
  readonly #revokedHere = new Map<string, number>();

  constructor({ postgres, redis, clock, lifetimeSeconds }: { postgres: Postgres; redis: Redis; clock: Clock; lifetimeSeconds: number }) {
    this.#postgres = postgres;
    this.#redis = redis;
    this.#clock = clock;
    this.#lifetimeSeconds = lifetimeSeconds;
  }

  /** Begins a sign-in and gives its sid. */
  async create(userId: string): Promise<string> {
    const sid = createSid();
    await this.#postgres.pool.query({
      name: "authSession.create",
      text: "INSERT INTO auth_sessions (id, user_id) VALUES ($1, $2)",
      values: [authSessionIdOf(sid), userId],
    });
    return sid;
  }

  /** Whether the sign-in still holds. Throws when neither Redis nor the database can say. */
  async isActive(id: string, userId: string): Promise<boolean> {
    if (this.#revokedHere.has(id)) return false;
    const cached = await this.#redis.get(cacheKey(id)).catch(() => null);
    if (cached !== null) return cached === active;
    const isActive = await this.#touch(id, userId);
    // NX: a sign-out that happened meanwhile must not be overwritten.
    if (isActive) await this.#redis.set(cacheKey(id), active, "EX", cacheSeconds, "NX").catch(() => null);
    return isActive;
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
    const { rows } = await this.#postgres.pool.query<{ id: string }>(
      "UPDATE auth_sessions SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL RETURNING id", [userId],
    );
    await this.#announceRevoked(rows.map(({ id }) => id));
  }

  /** Marks the sign-in as seen, unless it is over; with the cache in front this happens once a minute at most. */
  async #touch(id: string, userId: string): Promise<boolean> {
    const { rowCount } = await this.#postgres.pool.query({
      name: "authSession.touch",
      text: `UPDATE auth_sessions SET last_seen_at = now() FROM users
             WHERE auth_sessions.id = $1 AND auth_sessions.user_id = $2 AND auth_sessions.revoked_at IS NULL
               AND users.id = auth_sessions.user_id AND users.disabled_at IS NULL`,
      values: [id, userId],
    });
    return rowCount === 1;
  }

  async #announceRevoked(ids: string[]): Promise<void> {
    const now = this.#clock.monotonicMs();
    for (const [id, at] of this.#revokedHere) {
      if (now - at < revokedMemory.milliseconds && this.#revokedHere.size < revokedMemory.entries) break;
      this.#revokedHere.delete(id);
    }
    for (const id of ids) this.#revokedHere.set(id, now);
    await Promise.all(ids.map((id) => this.#redis.set(cacheKey(id), revoked, "EX", this.#lifetimeSeconds).catch(() => null)));
  }
}

function cacheKey(id: string): string {
  return `joypod:authSession:${id}`;
}
