import type { GamesQuery } from "#contracts/http/catalog.ts";
import type { Queryable } from "../stores/queryable.ts";
import { filterOf, keys, listColumns, type CatalogPage, type Filter } from "./catalogFilters.ts";
import {
  invisibleTo,
  invitedGamesOf,
  isListed,
  isNotInvisible,
  isVisibleTo,
} from "../games/gameVisibility.ts";

/**
 * The games that the player `$1` has played: `at` is when, `seconds` for how long. The slot may be gone, and
 * a slot with uploaded saves has no session.
 */
const played = `
  slots AS (
    SELECT DISTINCT ON (game_id) game_id, id, number, last_played_at FROM save_slots
      WHERE user_id = $1 ORDER BY game_id, last_played_at DESC, number
  ), sessions AS (
    SELECT game_id, max(started_at) AS started_at, coalesce(sum(duration_seconds), 0) AS seconds
      FROM game_sessions WHERE user_id = $1 GROUP BY game_id
  ), played AS (
    SELECT game_id, greatest(slots.last_played_at, sessions.started_at) AS at, coalesce(sessions.seconds, 0) AS seconds,
      slots.id AS slot_id, slots.number AS slot_number
      FROM slots FULL JOIN sessions USING (game_id)
  )`;

const playedColumn = `
  CASE WHEN p.at IS NULL THEN NULL ELSE json_build_object(
    'lastPlayedAt', to_char(p.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'playSeconds', round(p.seconds::numeric, 1),
    'slot', CASE WHEN p.slot_id IS NULL THEN NULL ELSE json_build_object('id', p.slot_id, 'slotNumber', p.slot_number) END
  ) END AS played`;

/**
 * Returns one page of the player's favourites, or of the catalogue by the time of the player's last session.
 * Each game has the field `played`.
 */
export async function listPersonalGames(
  db: Queryable,
  userId: string,
  query: GamesQuery,
  picturesAddress = "",
): Promise<CatalogPage> {
  const { favorites = false, sort, order, search, tag, page, limit } = query;
  const filter = filterOf(search, tag);
  const kind = favorites ? "favorites" : "by-last-played";
  const { rows } = await db.query<CatalogPage>({
    name: `list-${kind}-${sort}-${order}-${filter?.name ?? "all"}`,
    text: favorites ? favoritesText(query, filter) : lastPlayedText(query, filter),
    values: [userId, limit, (page - 1) * limit, picturesAddress, ...(filter?.values ?? [])],
  });
  return rows[0] ?? { total: 0, gamesJson: "[]" };
}

/**
 * The player's favourites are few, so they are all read and sorted. The filter is named in both forms,
 * because Postgres refuses parameters that a statement does not use.
 */
function favoritesText({ sort, order }: GamesQuery, filter: Filter | undefined): string {
  const isVisible = isVisibleTo("$1");
  const found = filter === undefined ? isVisible : `${isVisible} AND ${filter.walked} AND ${filter.found}`;
  const sorted = sort === "lastPlayed" ? lastPlayedOrder(order) : keys[sort](order, "asc");
  return `
    WITH ${played}, found AS (
      SELECT g.id FROM favorites f JOIN games g ON g.id = f.game_id WHERE f.user_id = $1 AND ${found}
    ), page AS (
      SELECT g.id FROM found JOIN games g USING (id) LEFT JOIN played p ON p.game_id = g.id
        ORDER BY ${sorted} LIMIT $2 OFFSET $3
    ) ${result("(SELECT count(*)::int FROM found)", sorted)}`;
}

/**
 * Played games and those that are open by invitation are few and sorted; the others follow in the order of
 * the index of titles.
 */
function lastPlayedText({ order }: GamesQuery, filter: Filter | undefined): string {
  const matches = filter === undefined ? "true" : filter.walked;
  const isFound = `${isListed} AND ${matches} AND ${isNotInvisible}`;
  const sorted = lastPlayedOrder(order);
  const total =
    filter === undefined
      ? "(SELECT listed - (SELECT count(*)::int FROM invisible) FROM catalog_totals)"
      : `(SELECT count(*)::int FROM games g WHERE ${isListed} AND ${filter.found} AND ${isNotInvisible})`;
  return `
    WITH ${invisibleTo("$1")}, ${played}, invited AS MATERIALIZED (
      SELECT g.id FROM games g WHERE g.id IN (${invitedGamesOf("$1")}) AND ${matches}
    ), found AS (
      SELECT g.id FROM played p JOIN games g ON g.id = p.game_id WHERE ${isFound}
      UNION ALL SELECT id FROM invited
    ), first AS (
      SELECT g.id FROM found JOIN games g USING (id) LEFT JOIN played p ON p.game_id = g.id
        ORDER BY ${sorted} LIMIT $2 OFFSET $3
    ), page AS (
      SELECT id FROM first UNION ALL (
        SELECT g.id FROM games g WHERE ${isFound} AND g.id NOT IN (SELECT id FROM found) ORDER BY ${keys.title("asc")}
          LIMIT (SELECT $2::int - count(*) FROM first) OFFSET (SELECT greatest(0, $3::int - count(*)) FROM found)
      )
    ) ${result(`${total} + (SELECT count(*)::int FROM invited)`, sorted)}`;
}

function lastPlayedOrder(order: GamesQuery["order"]): string {
  return `p.at ${order} NULLS LAST, ${keys.title("asc")}`;
}

/** Selects the page's `total` and `gamesJson`. */
function result(total: string, sorted: string): string {
  return `
    SELECT ${total} AS total, (SELECT coalesce(json_agg(row_to_json(listed)), '[]')::text FROM (
      SELECT ${listColumns("$4::text")}, ${playedColumn}
        FROM page JOIN games g USING (id) LEFT JOIN played p ON p.game_id = g.id ORDER BY ${sorted}
    ) listed) AS "gamesJson"`;
}
