import type { AuditEvent } from "../audit/audit.ts";
import type { PlayerSlot } from "./playerSlotQueries.ts";

/** Returns what the trail keeps of a change of somebody's saves. */
export function saveAuditEvent(action: string, actor: AuditEvent["actor"], slug: string, { id, number }: Pick<PlayerSlot, "id" | "number">): AuditEvent {
  return { action, actor, subject: { kind: "saveSlot", id }, details: { game: slug, number } };
}
