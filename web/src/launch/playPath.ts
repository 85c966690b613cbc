import type { LaunchRequest } from "#contracts/http/gameSessions.ts";

/** The save slot of a launch, by default the one that was played last, and the channel. */
export type SlotChoice = Pick<LaunchRequest, "saveSlotId" | "fresh" | "channel">;

/**
 * Returns the path of a session's play page. It names the game, for links back to it, and the chosen slot, so
 * that a failed launch can be retried with the same slot.
 */
export function playPath({
  sessionId,
  gameSlug,
  saveSlotId,
  fresh,
  channel,
}: { sessionId: string; gameSlug?: string | undefined } & SlotChoice): string {
  const query = new URLSearchParams({
    ...(gameSlug !== undefined && { game: gameSlug }),
    ...(saveSlotId !== undefined && { slot: saveSlotId }),
    ...(fresh === true && { fresh: "true" }),
    ...(channel !== undefined && { channel }),
  });
  return `/play/${encodeURIComponent(sessionId)}${query.size === 0 ? "" : `?${query}`}`;
}

/** Returns the slot choice from the query of a play page's address. */
export function parseSlotChoice(query: URLSearchParams): SlotChoice {
  const saveSlotId = query.get("slot");
  const channel = query.get("channel");
  return {
    ...(saveSlotId !== null ? { saveSlotId } : query.has("fresh") && { fresh: true }),
    ...(channel !== null && { channel }),
  };
}

/** Returns the query for a running session: a new slot is now the slot that was played last. */
export function toRunningQuery(query: URLSearchParams): URLSearchParams {
  const next = new URLSearchParams(query);
  next.delete("fresh");
  return next;
}
