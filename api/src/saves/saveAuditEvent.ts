import type { AuditEvent } from "../audit/audit.ts";
import type { PlayerSlot } from "./playerSlotQueries.ts";

/** Who changes saves; over HTTP also from where, and by which request. */
export type SaveChange = Pick<AuditEvent, "actor" | "address" | "requestId">;

/** Returns what the trail keeps of a change of somebody's saves. */
export function saveAuditEvent(
  action: string,
  change: SaveChange,
  slug: string,
  { id, number }: Pick<PlayerSlot, "id" | "number">,
): AuditEvent {
  return { action, ...change, subject: { kind: "saveSlot", id }, details: { game: slug, number } };
}
