import type { LaunchRequest } from "#contracts/http/gameSessions.ts";

/** The save slot of a launch; without either field, the slot that was played last. */
export type SlotChoice = Pick<LaunchRequest, "saveSlotId" | "fresh">;

/**
 * Returns the path of a session's play page. It names the game, for links back to it, and the chosen slot, so
 * that a failed launch can be retried with the same slot.
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

/** Returns the slot choice from the query of a play page's address. */
export function parseSlotChoice(query: URLSearchParams): SlotChoice {
  const saveSlotId = query.get("slot");
  if (saveSlotId !== null) return { saveSlotId };
  return query.has("fresh") ? { fresh: true } : {};
}

/** Returns the query for a running session: a new slot is now the slot that was played last. */
export function toRunningQuery(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(query);
  next.delete("fresh");
  return next;
}
