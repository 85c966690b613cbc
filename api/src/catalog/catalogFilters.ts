import type { GamesQuery } from "#contracts/http/catalog.ts";

/** The sort orders that have an index. */
type IndexedSort = Exclude<GamesQuery["sort"], "lastPlayed">;

/** A query of the catalogue that depends on the player only in the marks of favourites. */
export type CatalogQuery = Omit<GamesQuery, "sort" | "favorites"> & { sort: IndexedSort };

/** A page of the catalogue. */
export interface CatalogPage {
  /** A JSON array of the contract's `GameListItem`s, passed unparsed from the database to the client. */
  gamesJson: string;
  total: number;
}

/** One condition in two forms that mean the same. */
export interface Filter {
  name: string;
  /** As a search index answers it, where there is one. */
  found: string;
  isIndexed: boolean;
  /** As a scan tests it, in the sort's order or of all games. */
  walked: string;
  values: string[];
}

/** Sort orders of the catalogue's five indexes; ties are sorted by title, then id. */
export const keys = {
  title: (direction: string) => `g.title_key ${direction}, g.id ${direction}`,
  createdAt: (direction: string, tie: string) => `g.created_at ${direction}, g.title_key ${tie}, g.id ${tie}`,
  popular: (direction: string, tie: string) => `g.popularity ${direction}, g.title_key ${tie}, g.id ${tie}`,
} satisfies Record<IndexedSort, (direction: string, tie: string) => string>;

/** Preceded by user, limit, offset and the prefix of pictures' addresses. */
export const firstFilterParameter = 5;

/** The trigram index finds no shorter terms. */
const trigramLength = 3;

/**
 * Returns the columns of a game in lists, formatted as the contract's `GameListItem`. `$1` is the user; the
 * expression is the prefix of uploaded pictures' addresses.
 */
export function listColumns(picturesAddress: string): string {
  return `g.id, g.slug, g.title, g.developer, g.description, g.tags, coalesce(${picturesAddress} || g.picture_id, g.thumbnail, '') AS thumbnail,
  coalesce(to_char(g.release_date, 'YYYY-MM-DD'), '') AS "releaseDate",
  EXISTS (SELECT 1 FROM favorites f WHERE f.user_id = $1 AND f.game_id = g.id) AS "isFavorite"`;
}

/** Returns the condition for games that match the search and the tag; its parameters begin with `$5`. */
export function filterOf(search: string | undefined, tag: string | undefined): Filter | undefined {
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
  // Greek has a different lower-case sigma at the end of a word, and a search term may end in the middle of a
  // word of the name. `search_text` therefore uses this sigma everywhere.
  const term = search.replace(/[Σς]/g, "σ");
  const pattern = `%${escapeLike(term)}%`;
  if (Array.from(term).length < trigramLength) {
    // LIKE is faster than strpos for short terms. The explicit collation keeps Postgres from scanning the
    // whole trigram index.
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
