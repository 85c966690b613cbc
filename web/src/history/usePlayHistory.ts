import {
  useInfiniteQuery,
  type InfiniteData,
  type QueryClient,
  type UseInfiniteQueryResult,
} from "@tanstack/react-query";
import type { HistoryResponse, PlayTimeResponse } from "#contracts/http/history.ts";
import { listPlayedSessions, listPlayTime } from "../client/history.ts";

const sessionsPerPage = 20;
const gamesPerPage = 5;
const historyKey = "playHistory";

/** Returns the player's sessions, of one game if `game` is not empty, loaded page by page. */
export function usePlayedSessions(game: string): UseInfiniteQueryResult<InfiniteData<HistoryResponse>> {
  return useInfiniteQuery({
    queryKey: [historyKey, "sessions", game],
    queryFn: ({ pageParam, signal }) =>
      listPlayedSessions({ game, page: pageParam, limit: sessionsPerPage }, signal),
    initialPageParam: 1,
    getNextPageParam: nextPage,
  });
}

/** Returns the player's games by play time, loaded page by page. */
export function usePlayTime(): UseInfiniteQueryResult<InfiniteData<PlayTimeResponse>> {
  return useInfiniteQuery({
    queryKey: [historyKey, "games"],
    queryFn: ({ pageParam, signal }) => listPlayTime({ page: pageParam, limit: gamesPerPage }, signal),
    initialPageParam: 1,
    getNextPageParam: nextPage,
  });
}

/** Removes the cached history of a player. */
export function forgetHistory(client: QueryClient): void {
  client.removeQueries({ queryKey: [historyKey] });
}

/** Returns each item once: items move to a later page when a session starts while the player scrolls. */
export function uniqueBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  return [...new Map(items.toReversed().map((item) => [keyOf(item), item])).values()].toReversed();
}

function nextPage({ pagination: { page, totalPages } }: Pick<HistoryResponse, "pagination">) {
  return page < totalPages ? page + 1 : undefined;
}
