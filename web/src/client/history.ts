/** The API's calls about what the player has played. All of them throw ApiError and nothing else. */
import { HistoryResponse, PlayTimeResponse } from "#contracts/http/history.ts";
import { request } from "./request.ts";

/** Sessions that the history shows. `page` starts at 1; an empty `game` means all games. */
export interface HistoryFilter {
  game: string;
  page: number;
  limit: number;
}

/** Returns a page of the player's sessions, newest first. */
export function listPlayedSessions(
  { game, page, limit }: HistoryFilter,
  signal?: AbortSignal,
): Promise<HistoryResponse> {
  const query = new URLSearchParams({ page: String(page), limit: String(limit) });
  if (game !== "") query.set("game", game);
  return request(HistoryResponse, `/api/game/history?${query}`, { signal });
}

/** Returns a page of the games that the player has played, the one with the longest play time first. */
export function listPlayTime(
  { page, limit }: { page: number; limit: number },
  signal?: AbortSignal,
): Promise<PlayTimeResponse> {
  const query = new URLSearchParams({ page: String(page), limit: String(limit) });
  return request(PlayTimeResponse, `/api/game/play-time?${query}`, { signal });
}
