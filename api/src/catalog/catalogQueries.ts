import type { GameDetail, GamesQuery } from "#contracts/http/catalog.ts";
import type { Queryable } from "../stores/queryable.ts";
import { limits } from "#contracts/limits.ts";
import {
  filterOf,
  firstFilterParameter,
  keys,
  listColumns,
  type CatalogPage,
  type CatalogQuery,
  type Filter,
} from "./catalogFilters.ts";
import { listPersonalGames } from "./personalQueries.ts";
import {
  invisibleTo,
  invitedGamesOf,
  isListed,
  isNotInvisible,
  isVisibleTo,
  openChannelsOf,
} from "../games/gameVisibility.ts";
import { listWithInvitedGames } from "./invitedQueries.ts";

/** An arbitrary constant that all replicas share, so that one of them does the work. */
const advisoryLock = 7_264_010_340;

/** Result of toggling a favourite. If listed but neither removed nor added, another request was faster. */
interface FavoriteToggle {
  /** Whether the game is in the catalogue. */
  isListed: boolean;
  isRemoved: boolean;
  isAdded: boolean;
}

/**
 * A statement that returns `total`, `counted`, `revision` and the page's `gamesJson`. The caller prepends
 * `$1` to the values.
 */
interface CatalogPageQuery {
  name: string;
  text: string;
  values: unknown[];
}

const opposite = { asc: "desc", desc: "asc" } as const;

/** Up to this many matches are sorted; more are read in index order. */
const fewMax = 500;

/** More matches than this among the newest games mean that there are many in total. */
const sample = { games: 500, matches: 10 };

/** Statement texts by name, shared by requests of the same form. */
const texts = new Map<string, string>();

const countAll = "count AS (SELECT listed AS total, false AS isfew, revision FROM catalog_totals)";

/** The number of games that match a search or tag, and the catalogue revision it was counted in. */
export interface KnownCount {
  revision: string;
  total: number;
}

const countsMax = 1_000;

/**
 * Caches large counts, which are slow to compute. A count is exact while the catalogue has its revision,
 * which the database compares; afterwards it still shows that there were many.
 */
export class CatalogCounts {
  readonly #counts = new Map<string, KnownCount>();

  find(filter: string): KnownCount | undefined {
    return this.#counts.get(filter);
  }

  forget(filter: string): void {
    this.#counts.delete(filter);
  }

  keep(filter: string, count: KnownCount): void {
    this.#counts.delete(filter);
    this.#counts.set(filter, count);
    if (this.#counts.size <= countsMax) return;
    const oldest = this.#counts.keys().next();
    if (oldest.done !== true) this.#counts.delete(oldest.value);
  }
}

/** A game with all its details and the user's save slots. */
export interface CatalogDetail extends Omit<GameDetail, "saveSlots" | "channels"> {
  /** The channels that the player can launch. */
  channels: string[];
  slots: { id: string; number: number; label: string; lastPlayedAt: string }[];
}

/**
 * Returns one page of the games for the user: of the catalogue, or of what the user has played or marked, if
 * the query asks for that. `counts` caches counts of earlier pages; `picturesAddress` is the prefix of
 * pictures' addresses.
 */
export async function listCatalogGames(
  db: Queryable,
  userId: string,
  query: GamesQuery,
  counts = new CatalogCounts(),
  picturesAddress = "",
): Promise<CatalogPage> {
  const { sort, favorites } = query;
  if (sort === "lastPlayed" || favorites === true)
    return listPersonalGames(db, userId, query, picturesAddress);
  const filter = JSON.stringify([query.search?.toLowerCase(), query.tag?.toLowerCase()]);
  const { name, text, values } = catalogPageQuery({ ...query, sort }, counts.find(filter), picturesAddress);
  const {
    rows: [page],
  } = await db.query<CatalogPage & { counted: number; revision: string; isInvited: boolean }>({
    name,
    text,
    values: [userId, ...values],
  });
  if (page === undefined) return { total: 0, gamesJson: "[]" };
  if (page.isInvited) return listWithInvitedGames(db, userId, { ...query, sort }, picturesAddress);
  // The cached count is that of all games; the user's total lacks those that the user does not see.
  if (page.counted <= fewMax) counts.forget(filter);
  else if (query.search || query.tag) counts.keep(filter, { revision: page.revision, total: page.counted });
  return { total: page.total, gamesJson: page.gamesJson };
}

/** Returns one game that the user sees; undefined otherwise. */
export async function findCatalogGame(
  db: Queryable,
  userId: string,
  slug: string,
  picturesAddress = "",
): Promise<CatalogDetail | undefined> {
  const { rows } = await db.query<CatalogDetail>({
    name: "find-catalog-game",
    text: `
      SELECT ${listColumns("$3::text")}, g.screenshots, coalesce(g.content_rating, '') AS "contentRating", g.languages, coalesce(g.website, '') AS website,
        (SELECT json_agg(o.name ORDER BY o.name <> 'default', o.name) FROM (${openChannelsOf("$1")}) o) AS channels,
        (SELECT coalesce(json_agg(json_build_object(
            'id', s.id, 'number', s.number, 'label', COALESCE(s.custom_label, s.label), 'lastPlayedAt', s.last_played_at) ORDER BY s.number), '[]')
          FROM save_slots s WHERE s.user_id = $1 AND s.game_id = g.id) AS slots
      FROM games g WHERE g.slug = $2 AND ${isVisibleTo("$1")}`,
    values: [userId, slug, picturesAddress],
  });
  return rows[0];
}

/**
 * Returns the statement for a page of the catalogue. A `known` large count is not recomputed while the
 * catalogue has its revision.
 */
export function catalogPageQuery(
  query: CatalogQuery,
  known?: KnownCount,
  picturesAddress = "",
): CatalogPageQuery {
  const { sort, order, search, tag, page, limit } = query;
  const filter = filterOf(search, tag);
  const name = `list-catalog-${sort}-${order}-${filter?.name ?? "all"}`;
  const text = texts.get(name) ?? textOf(query, filter);
  texts.set(name, text);
  return {
    name,
    text,
    values: [
      limit,
      (page - 1) * limit,
      picturesAddress,
      ...(filter === undefined ? [] : [...filter.values, known?.revision ?? null, known?.total ?? null]),
    ],
  };
}

/**
 * However far from the start the page lies, its ids come from an index in the sort's order, read from
 * whichever end is nearer; only then are rows fetched. Values come into the plan by subqueries alone, so the
 * plan's cost is the same for all values and Postgres keeps it.
 */
function textOf(query: CatalogQuery, filter: Filter | undefined): string {
  const { sort, order } = query;
  const forwards = keys[sort](order, "asc");
  const isFound = `${isListed}${filter === undefined ? "" : ` AND ${filter.walked}`} AND ${isNotInvisible}`;
  const hidden =
    filter === undefined
      ? "SELECT count(*)::int FROM invisible"
      : `SELECT count(*)::int FROM invisible JOIN games g USING (id) WHERE ${filter.walked}`;
  return `
    WITH ${invisibleTo("$1")}, ${filter === undefined ? countAll : countFound(filter, query)},
    seen AS MATERIALIZED (SELECT isfew, total - (${hidden}) AS total FROM count),
    -- Read from the end, a page of the second half begins that many games before it.
    place AS (
      SELECT isfew, $3::int * 2 > total AS isback, $3::int AS ahead, greatest(0, total - $3::int - $2::int) AS back,
        greatest(0, least($2::int, total - $3::int)) AS size
      FROM seen
    ), page AS (
      ${
        filter === undefined
          ? ""
          : `(SELECT g.id FROM few g WHERE ${isNotInvisible} ORDER BY ${forwards}
        LIMIT (SELECT CASE WHEN isfew THEN size ELSE 0 END FROM place) OFFSET (SELECT ahead FROM place))
      UNION ALL`
      }
      (SELECT g.id FROM games g WHERE ${isFound} ORDER BY ${forwards}
        LIMIT (SELECT CASE WHEN isfew OR isback THEN 0 ELSE size END FROM place) OFFSET (SELECT ahead FROM place))
      UNION ALL
      (SELECT g.id FROM games g WHERE ${isFound} ORDER BY ${keys[sort](opposite[order], "desc")}
        LIMIT (SELECT CASE WHEN isfew OR NOT isback THEN 0 ELSE size END FROM place) OFFSET (SELECT back FROM place))
      -- Cuts nothing off: tells Postgres how few rows it will have to fetch.
      LIMIT ${limits.catalog.pageSizeMax}
    )
    SELECT (SELECT total FROM seen) AS total, (SELECT total FROM count) AS counted, (SELECT revision::text FROM count) AS revision,
      EXISTS (${invitedGamesOf("$1")}) AS "isInvited", (SELECT coalesce(json_agg(row_to_json(listed)), '[]')::text FROM (
      SELECT ${listColumns("$4::text")} FROM page JOIN games g USING (id) ORDER BY ${forwards}
    ) listed) AS "gamesJson"`;
}

/**
 * Few matches are found by the search index and sorted. Many are not: Postgres would sort thousands for one
 * page, or, left to choose, walk the sort's index for the few. So it counts first how many there are; the
 * part that does not apply has `LIMIT 0` and is not run. Few matches are not looked for when a sample has
 * many, or when an earlier page has counted many, even in another revision.
 */
function countFound({ found, isIndexed, walked, values }: Filter, { sort, order }: CatalogQuery): string {
  const knownRevision = `$${firstFilterParameter + values.length}::bigint`;
  const knownTotal = `$${firstFilterParameter + values.length + 1}::int`;
  // A filter without an index walks the games in the sort's order, which only the sort's index returns
  // without sorting them all.
  const sorted = isIndexed ? "" : `ORDER BY ${keys[sort](order, "asc")}`;
  return `
    guess AS MATERIALIZED (
      SELECT (SELECT ${knownTotal} IS NULL) AND count(*) <= ${sample.matches} AS isfew FROM (
        SELECT ${walked} AS ismatch FROM games g WHERE ${isListed} ORDER BY ${keys.createdAt("desc", "asc")}
        LIMIT (SELECT CASE WHEN ${knownTotal} IS NULL THEN ${sample.games} ELSE 0 END)
      ) newest WHERE ismatch
    ), few AS MATERIALIZED (
      SELECT ${keys[sort]("", "")} FROM games g WHERE ${isListed} AND ${found} ${sorted}
      LIMIT (SELECT CASE WHEN isfew THEN ${fewMax + 1} ELSE 0 END FROM guess)
    ), count AS MATERIALIZED (
      SELECT isfew, revision, CASE
        WHEN revision = ${knownRevision} THEN ${knownTotal}
        WHEN isfew THEN n
        ELSE (SELECT count(*)::int FROM (
          -- Cuts nothing off: as if it might be left early, an index is walked instead of the table; one for all sorts, which stays in memory.
          SELECT FROM games g WHERE ${isListed} AND ${walked} ORDER BY ${keys.title("asc")} LIMIT (SELECT listed FROM catalog_totals)
        ) matches) END AS total
      FROM catalog_totals, (SELECT guess.isfew AND n <= ${fewMax} AS isfew, n FROM guess, (SELECT count(*)::int AS n FROM few) found) counted
    )`;
}

/** Removes the game from the user's favourites, or adds it. */
export async function updateFavorite(db: Queryable, userId: string, gameId: string): Promise<FavoriteToggle> {
  const {
    rows: [toggled],
  } = await db.query<FavoriteToggle>({
    name: "toggle-favorite",
    text: `WITH game AS (SELECT g.id FROM games g WHERE g.id = $2 AND ${isVisibleTo("$1")}),
        removed AS (DELETE FROM favorites WHERE user_id = $1 AND game_id = (SELECT id FROM game) RETURNING 1),
        added AS (
          INSERT INTO favorites (user_id, game_id) SELECT $1, id FROM game WHERE NOT EXISTS (SELECT FROM removed) ON CONFLICT DO NOTHING RETURNING 1
        )
        SELECT EXISTS (SELECT FROM game) AS "isListed", EXISTS (SELECT FROM removed) AS "isRemoved", EXISTS (SELECT FROM added) AS "isAdded"`,
    values: [userId, gameId],
  });
  return toggled ?? { isListed: false, isRemoved: false, isAdded: false };
}

/** Acquires the right to count launches until the transaction ends; false if another replica has it. */
export async function lockPopularity(transaction: Queryable): Promise<boolean> {
  const { rows } = await transaction.query<{ isMine: boolean }>(
    `SELECT pg_try_advisory_xact_lock($1) AS "isMine"`,
    [advisoryLock],
  );
  return rows[0]?.isMine === true;
}

/** Sets the popularity of every game to its launches of the last `days` days. */
export async function updatePopularity(transaction: Queryable, days: number): Promise<void> {
  await transaction.query(
    `WITH counted AS (
       SELECT games.id, coalesce(sum(days.launches), 0)::int AS launches
         FROM games LEFT JOIN game_launch_days days
           ON days.game_id = games.id AND days.day > (now() AT TIME ZONE 'UTC')::date - $1::int
         GROUP BY games.id
     ), changed AS (
       -- Locked by id, as launches lock theirs: in another order each would wait for the other.
       SELECT games.id, counted.launches FROM games JOIN counted ON counted.id = games.id
         WHERE games.popularity <> counted.launches ORDER BY games.id FOR NO KEY UPDATE OF games
     )
     UPDATE games SET popularity = changed.launches FROM changed WHERE games.id = changed.id`,
    [days],
  );
}
