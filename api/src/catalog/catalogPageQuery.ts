import type { GamesQuery } from "#contracts/http/catalog.ts";
import { limits } from "#contracts/limits.ts";
import type { KnownCount } from "./catalogCounts.ts";

/**
 * Returns the columns of a game in lists, named and formatted as in the contract's `GameListItem`; `$1` is
 * the user, and the expression what the addresses of uploaded pictures begin with.
 */
export function listColumns(picturesAddress: string): string {
  return `g.id, g.slug, g.title, g.developer, g.description, g.tags, coalesce(${picturesAddress} || g.picture_id, g.thumbnail, '') AS thumbnail,
  coalesce(to_char(g.release_date, 'YYYY-MM-DD'), '') AS "releaseDate",
  EXISTS (SELECT 1 FROM favorites f WHERE f.user_id = $1 AND f.game_id = g.id) AS "isFavorite"`;
}

/**
 * A statement that returns `total`, `revision` and the page's `gamesJson`; the caller's `$1` goes before the
 * values.
 */
export interface CatalogPageQuery {
  name: string;
  text: string;
  values: unknown[];
}

const isListed = "g.status = 'active' AND g.deleted_at IS NULL";

/** The orders of the catalogue's five indexes: ties go by title, then id. */
const keys = {
  title: (direction: string) => `g.title_key ${direction}, g.id ${direction}`,
  createdAt: (direction: string, tie: string) => `g.created_at ${direction}, g.title_key ${tie}, g.id ${tie}`,
  popular: (direction: string, tie: string) => `g.popularity ${direction}, g.title_key ${tie}, g.id ${tie}`,
} satisfies Record<GamesQuery["sort"], (direction: string, tie: string) => string>;

const opposite = { asc: "desc", desc: "asc" } as const;

/** The parameters before it are user, limit, offset and what the addresses of pictures begin with. */
const firstFilterParameter = 5;
/** The trigram index finds nothing shorter. */
const trigramLength = 3;
/** Up to so many matches are sorted; more are read in the index's order. */
export const fewMax = 500;
/** More matches than this among so many of the newest games mean that there are not few in all. */
const sample = { games: 500, matches: 10 };

/** The statements' texts by name: every request that asks in the same way shares one. */
const texts = new Map<string, string>();

/**
 * Returns the statement for a page of the catalogue. A `known` count of many is not counted again while the
 * catalogue has its revision.
 */
export function catalogPageQuery(
  query: GamesQuery,
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
function textOf(query: GamesQuery, filter: Filter | undefined): string {
  const { sort, order } = query;
  const forwards = keys[sort](order, "asc");
  const isFound = filter === undefined ? isListed : `${isListed} AND ${filter.walked}`;
  return `
    WITH ${filter === undefined ? countAll : countFound(filter, query)},
    -- Read from the end, a page of the second half begins that many games before it.
    place AS (
      SELECT isfew, $3::int * 2 > total AS isback, $3::int AS ahead, greatest(0, total - $3::int - $2::int) AS back,
        greatest(0, least($2::int, total - $3::int)) AS size
      FROM count
    ), page AS (
      ${
        filter === undefined
          ? ""
          : `(SELECT g.id FROM few g ORDER BY ${forwards}
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
    SELECT (SELECT total FROM count) AS total, (SELECT revision::text FROM count) AS revision, (SELECT coalesce(json_agg(row_to_json(listed)), '[]')::text FROM (
      SELECT ${listColumns("$4::text")} FROM page JOIN games g USING (id) ORDER BY ${forwards}
    ) listed) AS "gamesJson"`;
}

const countAll = "count AS (SELECT listed AS total, false AS isfew, revision FROM catalog_totals)";

/**
 * Few matches are found by the search index and sorted. Many are not: Postgres would sort thousands for one
 * page, or, left to choose, walk the sort's index for the few. So it counts first how many there are; the
 * part that does not apply has `LIMIT 0` and is not run. Few matches are not looked for when a sample has
 * many, or when an earlier page has counted many, even in another revision.
 */
function countFound({ found, isIndexed, walked, values }: Filter, { sort, order }: GamesQuery): string {
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

/** One condition in two forms that mean the same. */
interface Filter {
  name: string;
  /** As a search index answers it, where there is one. */
  found: string;
  isIndexed: boolean;
  /** As a scan tests it, in the sort's order or of all games. */
  walked: string;
  values: string[];
}

function filterOf(search: string | undefined, tag: string | undefined): Filter | undefined {
  const parts: Filter[] = [];
  if (search) parts.push(searchFilter(search, firstFilterParameter));
  if (tag) parts.push(tagFilter(tag, firstFilterParameter + parts.flatMap(({ values }) => values).length));
  if (parts.length === 0) return undefined;
  return {
    name: parts.map(({ name }) => name).join("-"),
    found: parts.map(({ found }) => found).join(" AND "),
    isIndexed: parts.some(({ isIndexed }) => isIndexed),
    walked: parts.map(({ walked }) => walked).join(" AND "),
    values: parts.flatMap(({ values }) => values),
  };
}

function searchFilter(search: string, n: number): Filter {
  // Lower case has another sigma at a word's end, and a term may end where the name's word goes on:
  // `search_text` has names with this one throughout.
  const term = search.replace(/[Σς]/g, "σ");
  const pattern = `%${escapeLike(term)}%`;
  if (Array.from(term).length < trigramLength) {
    // Faster than strpos for so little; in a collation of its own, because the trigram index would be read
    // whole for it.
    const walked = `g.search_text COLLATE "C" LIKE ${folded(`$${n}`)}`;
    return { name: "short", found: walked, isIndexed: false, walked, values: [pattern] };
  }
  const walked = `strpos(g.search_text, ${folded(`$${n}`)}) > 0`;
  return {
    name: "search",
    found: `g.search_text LIKE ${folded(`$${n + 1}`)}`,
    isIndexed: true,
    walked,
    values: [term, pattern],
  };
}

function tagFilter(tag: string, n: number): Filter {
  const walked = `${folded(`$${n}`)} = ANY (g.tag_keys)`;
  return {
    name: "tag",
    found: `g.tag_keys @> ARRAY[${folded(`$${n}`)}]`,
    isIndexed: true,
    walked,
    values: [tag],
  };
}

/**
 * Returns the parameter in lower case, as the columns are, and in the columns' collation, without which their
 * indexes are not used. A subquery runs once, not for every game. It also hides the value: told that a term
 * is common, Postgres would scan the table for the first matches, which can lie behind everything that was
 * ever deleted.
 */
function folded(parameter: string): string {
  return `(SELECT lower(${parameter}::text COLLATE "und-x-icu") COLLATE "default")`;
}

/** Escapes `%`, `_` and backslash, which mean something to LIKE. */
function escapeLike(text: string): string {
  return text.replace(/[\\%_]/g, (sign) => `\\${sign}`);
}
