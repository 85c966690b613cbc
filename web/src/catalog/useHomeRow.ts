import { useQuery, type QueryClient, type UseQueryResult } from "@tanstack/react-query";
import type { GamesResponse } from "#contracts/http/catalog.ts";
import { listGames, type CatalogQuery } from "../client/catalog.ts";

/** Games in a row. */
export const rowLength = 12;

/** The rows of the home page, from top to bottom. */
export type HomeRow = "continue" | "favorites" | "recent" | "popular";

const rowKey = "homeRow";
/** Going back and forth between games loads nothing again. */
const freshMs = 60_000;
/** Rows are kept for this long, so that a player who returns finds the page as it was. */
const keptMs = 10 * 60_000;

const queries: Record<HomeRow, Pick<CatalogQuery, "sort" | "favorites">> = {
  continue: { sort: "lastPlayed", favorites: false },
  favorites: { sort: "lastPlayed", favorites: true },
  recent: { sort: "createdAt", favorites: false },
  popular: { sort: "popular", favorites: false },
};

/** Returns the games of a row. */
export function useHomeRow(row: HomeRow): UseQueryResult<GamesResponse> {
  return useQuery({
    queryKey: [rowKey, row],
    queryFn: ({ signal }) =>
      listGames({ page: 1, limit: rowLength, search: "", tag: "", ...queries[row] }, signal),
    gcTime: keptMs,
    staleTime: freshMs,
  });
}

/** Removes the cached rows, which contain what a player plays. */
export function forgetHomeRows(client: QueryClient): void {
  client.removeQueries({ queryKey: [rowKey] });
}

/** Marks a game in the cached rows, and loads the row of favourites again. */
export function keepRowFavorite(client: QueryClient, gameId: string, isFavorite: boolean): void {
  client.setQueriesData<GamesResponse>(
    { queryKey: [rowKey] },
    (kept) =>
      kept && {
        ...kept,
        games: kept.games.map((game) => (game.id === gameId ? { ...game, isFavorite } : game)),
      },
  );
  void client.invalidateQueries({ queryKey: [rowKey, "favorites"] });
}
