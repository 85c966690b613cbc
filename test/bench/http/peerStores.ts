import { Redis } from "ioredis";
import pg from "pg";
import { GamesQuery } from "#contracts/http/catalog.ts";
import type { KeepaliveResponse } from "#contracts/http/gameSessions.ts";
import { authSessionIdOf } from "#api/auth/tokens.ts";
import type { Config } from "#api/config.ts";
import { presentGames } from "#api/catalog/present.ts";
import { presentKeepalive } from "#api/gameSessions/sessions/present.ts";
import { CatalogCounts, listCatalogGames } from "#api/catalog/catalogQueries.ts";
import { updateGameSessionExpiry } from "#api/gameSessions/sessions/gameSessionQueries.ts";

/**
 * Shared by the peers and the API: the same statements on the same kind of pool, and the same sign-in cache.
 */
export class PeerStores {
  readonly pool: pg.Pool;
  readonly redis: Redis;
  readonly #counts = new CatalogCounts();

  constructor({ postgres, redis }: Config) {
    // With the API's deadlines, because each costs a timer.
    this.pool = new pg.Pool({
      connectionString: postgres.url,
      max: postgres.poolSize,
      statement_timeout: postgres.timeoutMs,
      query_timeout: postgres.timeoutMs,
    });
    this.redis = new Redis(redis.url, { commandTimeout: redis.commandTimeoutMs });
  }

  gateOf(sid: string): string {
    return `joypod:authSession:${authSessionIdOf(sid)}`;
  }

  /** Reads the sign-in from the database. Runs if it is not cached, about once a minute. */
  async touch(sid: string, userId: string): Promise<boolean> {
    const { rowCount } = await this.pool.query({
      name: "touch",
      text: "UPDATE auth_sessions SET last_seen_at = now() WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL",
      values: [authSessionIdOf(sid), userId],
    });
    if (rowCount === 1)
      await this.redis.set(this.gateOf(sid), String(Math.floor(Date.now() / 1000)), "EX", 60, "NX");
    return rowCount === 1;
  }

  async keepAlive(userId: string, sessionId: string): Promise<KeepaliveResponse> {
    const kept = await updateGameSessionExpiry(this.pool, sessionId, userId);
    if (kept === undefined) throw new Error("This session does not exist.");
    return presentKeepalive(kept.expiresAt);
  }

  /** Returns the JSON text of a `GamesResponse`. */
  async games(userId: string, query: Record<string, string>): Promise<string> {
    const checked = GamesQuery.parse(query);
    return presentGames(await listCatalogGames(this.pool, userId, checked, this.#counts), checked);
  }
}

/** The headers that the API adds to every response. */
export const securityHeaders = {
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "API-Version": "2026-11-29",
};
