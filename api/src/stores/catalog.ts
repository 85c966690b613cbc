import type { GamesQuery } from "#contracts/http/catalog.ts";
import type { Queryable } from "./queryable.ts";

/** A game as the catalogue lists it. */
export interface CatalogGame {
  id: string;
  slug: string;
  title: string;
  developer: string;
  description: string;
  tags: string[];
  thumbnail: string | null;
  releaseDate: string | null;
  isFavorite: boolean;
}

export interface CatalogPage {
  games: CatalogGame[];
  total: number;
}

/** A game's own page, with the user's used slots. */
export interface CatalogDetail extends CatalogGame {
  screenshots: string[];
  contentRating: string | null;
  languages: string[];
  website: string | null;
  slots: { id: string; number: number; label: string; lastPlayedAt: string }[];
}

const isListed = "g.status = 'active' AND g.deleted_at IS NULL";

const listColumns = `g.id, g.slug, g.title, g.developer, g.description, g.tags, g.thumbnail,
  to_char(g.release_date, 'YYYY-MM-DD') AS "releaseDate",
  EXISTS (SELECT 1 FROM favorites f WHERE f.user_id = $1 AND f.game_id = g.id) AS "isFavorite"`;

/** Ties go by title, then id; each has an index in just this order. */
const orders: Record<GamesQuery["sort"], (direction: string) => string> = {
  title: (direction) => `g.title_key ${direction}, g.id ${direction}`,
  createdAt: (direction) => `g.created_at ${direction}, g.title_key, g.id`,
  popular: (direction) => `g.popularity ${direction}, g.title_key, g.id`,
};

/** One page of the catalogue as `userId` sees it. */
export async function listCatalog(database: Queryable, userId: string, query: GamesQuery): Promise<CatalogPage> {
  const filters = [
    ...(query.search ? [{ sql: (n: number) => `g.search_text LIKE ${folded(n)}`, value: `%${escapeLike(query.search)}%` }] : []),
    ...(query.tag ? [{ sql: (n: number) => `g.tag_keys @> ARRAY[${folded(n)}]`, value: query.tag }] : []),
  ];
  const conditions = filters.map(({ sql }, index) => sql(index + 4));
  const text = filters.length === 0 ? wholeCatalog(query) : filteredCatalog(query, conditions);
  const { rows } = await database.query<{ total: number; games: CatalogGame[] }>({
    name: `catalog.${query.sort}.${query.order}.${query.search ? "s" : ""}${query.tag ? "t" : ""}`,
    text,
    values: [userId, query.limit, (query.page - 1) * query.limit, ...filters.map(({ value }) => value)],
  });
  return { total: rows[0]?.total ?? 0, games: rows[0]?.games ?? [] };
}

/** Lower case as the columns are; back in the columns' own collation, without which their indexes are of no use. */
function folded(parameter: number): string {
  return `(lower($${parameter}::text COLLATE "und-x-icu") COLLATE "default")`;
}

/** The page's ids come from the sort's index alone, however far in the page is; only then are rows fetched. */
function wholeCatalog({ sort, order }: GamesQuery): string {
  const by = orders[sort](order);
  return `
    WITH page AS (SELECT g.id FROM games g WHERE ${isListed} ORDER BY ${by} LIMIT $2 OFFSET $3)
    SELECT (SELECT count(*)::int FROM games g WHERE ${isListed}) AS total, ${pageOf(by)} AS games`;
}

/**
 * The matches are found first and sorted then. Left to choose, the planner walks the sort's index and tests each game, which
 * takes twenty times as long when few match: MATERIALIZED keeps the two steps apart.
 */
function filteredCatalog({ sort, order }: GamesQuery, conditions: string[]): string {
  const by = orders[sort](order);
  return `
    WITH found AS MATERIALIZED (
      SELECT g.id, g.title_key, g.created_at, g.popularity FROM games g WHERE ${isListed} AND ${conditions.join(" AND ")}
    ), page AS (SELECT g.id FROM found g ORDER BY ${by} LIMIT $2 OFFSET $3)
    SELECT (SELECT count(*)::int FROM found) AS total, ${pageOf(by)} AS games`;
}

function pageOf(by: string): string {
  return `(SELECT coalesce(json_agg(row_to_json(listed)), '[]') FROM (
    SELECT ${listColumns} FROM page JOIN games g USING (id) ORDER BY ${by}
  ) listed)`;
}

/** One game of the catalogue; undefined for one that is not (or no longer) in it. */
export async function findCatalogGame(database: Queryable, userId: string, slug: string): Promise<CatalogDetail | undefined> {
  const { rows } = await database.query<CatalogDetail>({
    name: "catalog.detail",
    text: `
      SELECT ${listColumns}, g.screenshots, g.content_rating AS "contentRating", g.languages, g.website,
        (SELECT coalesce(json_agg(json_build_object(
            'id', s.id, 'number', s.number, 'label', s.label, 'lastPlayedAt', s.last_played_at) ORDER BY s.number), '[]')
          FROM save_slots s WHERE s.user_id = $1 AND s.game_id = g.id) AS slots
      FROM games g WHERE g.slug = $2 AND ${isListed}`,
    values: [userId, slug],
  });
  return rows[0];
}

/** The text itself, where `%`, `_` and backslash would mean something to LIKE. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (sign) => `\\${sign}`);
}
