/** Returns the path of a session's play page. It names the game, so that the page can lead back to it after the session's end. */
export function playPath({ sessionId, gameSlug }: { sessionId: string; gameSlug?: string | undefined }): string {
  const query = gameSlug === undefined ? "" : `?${new URLSearchParams({ game: gameSlug })}`;
  return `/play/${encodeURIComponent(sessionId)}${query}`;
}
