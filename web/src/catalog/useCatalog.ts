import { useCallback, useMemo, useRef } from "react";
import {
  keepPreviousData,
  useInfiniteQuery,
  type InfiniteData,
  type QueryClient,
} from "@tanstack/react-query";
import type { GameListItem, GamesResponse } from "#contracts/http/catalog.ts";
import { listGames, type CatalogQuery } from "../client/catalog.ts";
import { forgetHomeRows, keepRowFavorite } from "./useHomeRow.ts";

const maxTags = 14;

/** How the catalogue is narrowed and sorted. */
export type CatalogFilters = Omit<CatalogQuery, "page" | "limit">;

/** The games loaded so far, of all pages. */
export interface Catalog {
  state: "loading" | "loadingMore" | "ready" | "failed";
  games: readonly GameListItem[];
  total: number;
  hasMore: boolean;
  error: Error | null;
  /** Loads the next page; the first one again after that failed. */
  loadMore: () => void;
}

const catalogKey = "catalog";
/** A list is kept for this long, so a player who opened a game returns to the same place in the list. */
const keptMs = 10 * 60_000;

/** Removes the cached catalogue, which contains a player's favourites. */
export function forgetCatalog(client: QueryClient): void {
  client.removeQueries({ queryKey: [catalogKey] });
  forgetHomeRows(client);
}

/** Updates the favourite mark of a game in the cached catalogue. */
export function keepFavorite(client: QueryClient, gameId: string, isFavorite: boolean): void {
  const mark = (page: GamesResponse): GamesResponse => ({
    ...page,
    games: page.games.map((game) => (game.id === gameId ? { ...game, isFavorite } : game)),
  });
  client.setQueriesData<InfiniteData<GamesResponse>>(
    { queryKey: [catalogKey] },
    (kept) => kept && { ...kept, pages: kept.pages.map(mark) },
  );
  keepRowFavorite(client, gameId, isFavorite);
}

/** Returns the catalogue for the filters, loaded page by page. */
export function useCatalog(filters: CatalogFilters): Catalog {
  const query = useInfiniteQuery({
    queryKey: [catalogKey, filters],
    gcTime: keptMs,
    queryFn: ({ pageParam, signal }) => listGames({ ...filters, page: pageParam }, signal),
    initialPageParam: 1,
    getNextPageParam: ({ pagination: { page, totalPages } }) => (page < totalPages ? page + 1 : undefined),
    // Refreshing a list takes one request per page, so browsing games far down the list would exhaust the
    // rate limit.
    staleTime: ({ state: { data } }) => (data !== undefined && data.pages.length > 1 ? keptMs : 0),
    // The games of the former filters stay until the new ones are loaded, to avoid flicker while the player
    // types.
    placeholderData: keepPreviousData,
  });
  const { data, error, hasNextPage, fetchNextPage } = query;
  return {
    state:
      query.isPending || query.isPlaceholderData
        ? "loading"
        : query.isFetching
          ? "loadingMore"
          : query.isError
            ? "failed"
            : "ready",
    games: useMemo(() => gamesOf(data?.pages ?? []), [data]),
    total: data?.pages.at(-1)?.pagination.total ?? 0,
    hasMore: hasNextPage,
    error,
    loadMore: useCallback(() => void fetchNextPage(), [fetchNextPage]),
  };
}

/**
 * Returns each game once: a game moves to a later page, and is listed twice, when another is added while the
 * player scrolls.
 */
function gamesOf(pages: readonly GamesResponse[]): GameListItem[] {
  const byId = new Map<string, GameListItem>();
  for (const game of pages.flatMap(({ games }) => games)) {
    if (!byId.has(game.id)) byId.set(game.id, game);
  }
  return [...byId.values()];
}

/** Returns whether both are the same tag. Partners and addresses differ in case, which the server ignores. */
export function isSameTag(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Returns the tags of all games shown so far, most frequent first, and always the chosen one. */
export function useKnownTags(games: readonly GameListItem[], chosen: string): string[] {
  // The key ignores case; the first spelling is shown.
  const seen = useRef(new Map<string, { tag: string; games: Set<string> }>());
  for (const { id, tags } of games) {
    for (const tag of tags) {
      const known = seen.current.get(tag.toLowerCase()) ?? { tag, games: new Set() };
      known.games.add(id);
      seen.current.set(tag.toLowerCase(), known);
    }
  }
  const byFrequency = [...seen.current.values()].sort(
    (first, second) => second.games.size - first.games.size || first.tag.localeCompare(second.tag),
  );
  const tags = byFrequency.slice(0, maxTags).map(({ tag }) => tag);
  return chosen === "" || tags.some((tag) => isSameTag(tag, chosen)) ? tags : [chosen, ...tags];
}
