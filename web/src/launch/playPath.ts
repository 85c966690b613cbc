import type { LaunchRequest } from "#contracts/http/gameSessions.ts";

/** Which save slot a session was launched with; neither for the one that was played last. */
export type SlotChoice = Pick<LaunchRequest, "saveSlotId" | "fresh">;

/**
 * Returns the path of a session's play page. It names the game, so that the page can lead back to it after
 * the session's end, and the slot that was chosen, so that a launch that failed can be tried again with the
 * same.
 */
export function playPath({
  sessionId,
  gameSlug,
  saveSlotId,
  fresh,
}: { sessionId: string; gameSlug?: string | undefined } & SlotChoice): string {
  const query = new URLSearchParams({
    ...(gameSlug !== undefined && { game: gameSlug }),
    ...(saveSlotId !== undefined && { slot: saveSlotId }),
    ...(fresh === true && { fresh: "true" }),
  });
  return `/play/${encodeURIComponent(sessionId)}${query.size === 0 ? "" : `?${query}`}`;
}

/** Returns the choice that the query of a play page's address names. */
export function slotChoiceOf(query: URLSearchParams): SlotChoice {
  const saveSlotId = query.get("slot");
  if (saveSlotId !== null) return { saveSlotId };
  return query.has("fresh") ? { fresh: true } : {};
}

/**
 * Returns the query for a session that runs: a slot that was new is the one that was played last from then
 * on.
 */
export function queryOfRunning(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(query);
  next.delete("fresh");
  return next;
}
