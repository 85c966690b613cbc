import { useCallback, useEffect, useReducer, useRef } from "react";
import type { GameListItem } from "#contracts/http/catalog.ts";
import { listGames, type CatalogQuery } from "../client/api.ts";

/** The games found so far, page after page. */
export interface Catalog {
  state: "loading" | "loadingMore" | "ready" | "failed";
  games: GameListItem[];
  total: number;
  hasMore: boolean;
  error: unknown;
}

type Action =
  | { type: "started"; isFirst: boolean }
  | { type: "loaded"; games: GameListItem[]; total: number; isFirst: boolean; hasMore: boolean }
  | { type: "failed"; error: unknown }
  | { type: "favorite"; gameId: string; isFavorite: boolean };

const nothing: Catalog = { state: "loading", games: [], total: 0, hasMore: false, error: undefined };

/** The catalogue for a query, loaded page by page. */
export function useCatalog({ search, tag, sort }: Omit<CatalogQuery, "page">, onError: (error: unknown) => void): {
  catalog: Catalog;
  loadMore: () => void;
  retry: () => void;
  setFavorite: (gameId: string, isFavorite: boolean) => void;
} {
  const [catalog, dispatch] = useReducer(reduce, nothing);
  const abort = useRef<AbortController>(undefined);
  const nextPage = useRef(1);

  const load = useCallback(async (page: number) => {
    abort.current?.abort();
    const { signal } = abort.current = new AbortController();
    dispatch({ type: "started", isFirst: page === 1 });
    try {
      const { games, pagination } = await listGames({ page, search, tag, sort }, signal);
      if (signal.aborted) return;
      nextPage.current = page + 1;
      dispatch({ type: "loaded", games, total: pagination.total, isFirst: page === 1, hasMore: page < pagination.totalPages });
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      dispatch({ type: "failed", error });
    }
  }, [search, tag, sort, onError]);

  useEffect(() => {
    nextPage.current = 1;
    void load(1);
    return () => abort.current?.abort();
  }, [load]);

  return {
    catalog,
    loadMore: useCallback(() => void load(nextPage.current), [load]),
    retry: useCallback(() => void load(nextPage.current), [load]),
    setFavorite: useCallback((gameId: string, isFavorite: boolean) => dispatch({ type: "favorite", gameId, isFavorite }), []),
  };
}

function reduce(catalog: Catalog, action: Action): Catalog {
  switch (action.type) {
    case "started":
      // The games of the last query stay until those of this one are there: no flicker while typing.
      return { ...catalog, state: action.isFirst ? "loading" : "loadingMore", error: undefined };
    case "loaded": {
      const before = action.isFirst ? [] : catalog.games;
      const known = new Set(before.map(({ id }) => id));
      // A game may move to a later page when one is added while we page.
      const games = [...before, ...action.games.filter(({ id }) => !known.has(id))];
      return { state: "ready", games, total: action.total, hasMore: action.hasMore, error: undefined };
    }
    case "failed":
      return { ...catalog, state: "failed", error: action.error };
    case "favorite":
      return { ...catalog, games: catalog.games.map((game) => (game.id === action.gameId ? { ...game, isFavorite: action.isFavorite } : game)) };
  }
}
