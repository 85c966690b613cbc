/** The API's calls about games and favourites. All of them throw ApiError and nothing else. */
import { FavoriteResponse, GameDetail, GamesResponse } from "#contracts/http/catalog.ts";
import { asLine } from "#contracts/http/text.ts";
import { limits } from "#contracts/limits.ts";
import { isApiError } from "./apiError.ts";
import { request, requestOnce } from "./request.ts";

/** Filters of the catalogue. `page` starts at 1; an empty text means any. */
export interface CatalogQuery {
  page: number;
  search: string;
  tag: string;
  sort: "title" | "createdAt" | "popular" | "lastPlayed";
  /** Whether to list only the player's favourites. */
  favorites: boolean;
  /** Games per page; 24 if absent. */
  limit?: number;
}

/**
 * Returns a page of the catalogue. A search that is too long for the API is cut; control characters become
 * spaces.
 */
export function listGames(
  { page, search, tag, sort, favorites, limit = 24 }: CatalogQuery,
  signal?: AbortSignal,
): Promise<GamesResponse> {
  const query = new URLSearchParams({
    page: String(page),
    limit: String(limit),
    sort,
    order: sort === "title" ? "asc" : "desc",
  });
  if (search !== "") query.set("search", asLine(search).slice(0, limits.catalog.searchMaxLength));
  if (favorites) query.set("favorites", "true");
  if (tag !== "") query.set("tag", asLine(tag));
  return request(GamesResponse, `/api/games?${query}`, { signal });
}

/** Returns a game with the player's slots; null for one that is not offered. */
export async function readGame(slug: string, signal?: AbortSignal): Promise<GameDetail | null> {
  try {
    return await request(GameDetail, `/api/games/${encodeURIComponent(slug)}`, { signal });
  } catch (error) {
    if (isApiError(error, "not_found")) return null;
    throw error;
  }
}

/** Adds the game to the player's favourites or removes it; returns whether it is one now. */
export async function toggleFavorite(gameId: string): Promise<boolean> {
  const { status } = await requestOnce(FavoriteResponse, "/api/favorites", { gameId });
  return status === "added";
}
