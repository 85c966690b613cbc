import type { Queryable } from "../stores/queryable.ts";

/** States of a game for an admin. */
export const gameStates = ["active", "pending_upload", "hidden", "deleted"] as const;
export type GameState = (typeof gameStates)[number];

/** Selects games for an admin. */
export interface GameFilter {
  /** Part of the slug, the title or the developer, in any case. */
  search: string | undefined;
  partnerId: string | undefined;
  /** Undefined for all but deleted ones. */
  state: GameState | undefined;
  /** Only slugs after this one. */
  after: string | undefined;
  limit: number;
}

/** A game in an admin's list. */
export interface ListedGameOfAll {
  id: string;
  slug: string;
  title: string;
  developer: string;
  partner: string;
  state: string;
  /** Launches in the last 30 days. */
  launches: number;
  /** Sessions that have not ended. */
  activeSessions: number;
}

/** Returns the matching games, sorted by slug. */
export async function listGames(
  db: Queryable,
  { search, partnerId, state, after, limit }: GameFilter,
): Promise<ListedGameOfAll[]> {
  const { rows } = await db.query<ListedGameOfAll>({
    text: `SELECT g.id, g.slug, g.title, g.developer, p.name AS partner, g.popularity AS launches,
        CASE WHEN g.deleted_at IS NOT NULL THEN 'deleted' WHEN g.hidden_at IS NOT NULL THEN 'hidden' ELSE g.status::text END AS state,
        (SELECT count(*)::int FROM game_sessions s WHERE s.game_id = g.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessions"
      FROM games g JOIN partners p ON p.id = g.partner_id
      WHERE ($1::text IS NULL OR strpos(lower(g.slug), lower($1)) > 0 OR strpos(lower(g.title), lower($1)) > 0
          OR strpos(lower(g.developer), lower($1)) > 0)
        AND ($2::text IS NULL OR g.partner_id = $2)
        AND CASE WHEN $3::text IS NULL THEN g.deleted_at IS NULL
          ELSE CASE WHEN g.deleted_at IS NOT NULL THEN 'deleted' WHEN g.hidden_at IS NOT NULL THEN 'hidden' ELSE g.status::text END = $3 END
        AND ($4::text IS NULL OR g.slug > $4)
      ORDER BY g.slug LIMIT $5`,
    values: [search ?? null, partnerId ?? null, state ?? null, after ?? null, limit],
  });
  return rows;
}

/** What an admin sees of a game. */
export interface GameDetails extends ListedGameOfAll {
  createdAt: Date;
  updatedAt: Date;
  deletedAt: Date | null;
  hiddenAt: Date | null;
  hiddenReason: string | null;
  /** The groups whose members see the game; null if all players do. */
  groups: string[] | null;
  visibility: string;
  network: string;
  /** Digest and size in bytes of the current archive; null before the first upload. */
  sha256: string | null;
  sizeBytes: number | null;
  uploadedAt: Date | null;
  favorites: number;
  saveSlots: number;
}

/** Returns the game with that slug, also a deleted one; undefined if unknown. */
export async function findGameDetails(db: Queryable, slug: string): Promise<GameDetails | undefined> {
  const { rows } = await db.query<GameDetails>({
    text: `SELECT g.id, g.slug, g.title, g.developer, p.name AS partner, g.popularity AS launches,
        CASE WHEN g.deleted_at IS NOT NULL THEN 'deleted' WHEN g.hidden_at IS NOT NULL THEN 'hidden' ELSE g.status::text END AS state,
        (SELECT count(*)::int FROM game_sessions s WHERE s.game_id = g.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessions",
        g.created_at AS "createdAt", g.updated_at AS "updatedAt", g.deleted_at AS "deletedAt", g.hidden_at AS "hiddenAt",
        g.hidden_reason AS "hiddenReason", g.visibility::text AS visibility, CASE WHEN g.is_restricted THEN ARRAY(SELECT pg.name FROM game_groups gg JOIN player_groups pg ON pg.id = gg.group_id
          WHERE gg.game_id = g.id ORDER BY pg.name) END AS groups, g.network::text AS network,
        v.sha256, v.size_bytes::float8 AS "sizeBytes", v.created_at AS "uploadedAt",
        (SELECT count(*)::int FROM favorites f WHERE f.game_id = g.id) AS favorites,
        (SELECT count(*)::int FROM save_slots l WHERE l.game_id = g.id) AS "saveSlots"
      FROM games g JOIN partners p ON p.id = g.partner_id LEFT JOIN game_versions v ON v.id = g.current_version_id
      WHERE g.slug = $1`,
    values: [slug],
  });
  return rows[0];
}
