import type { SaveVersionKind } from "#contracts/http/saves.ts";
import type { Queryable } from "../stores/queryable.ts";

/** A save that becomes a slot's own. */
export interface NextSave {
  kind: Extract<SaveVersionKind, "restored" | "imported">;
  objectKey: string;
  sha256: string;
  bytes: number;
  unpackedBytes: number | null;
}

/** A slot about to be made. */
export interface NewSlot {
  id: string;
  userId: string;
  gameId: string;
  number: number;
  customLabel: string | null;
}

/** Makes the save the slot's own, as a version of the next generation; the caller holds the slot, and no session owns it. */
export async function updateSlotVersion(transaction: Queryable, slotId: string, { kind, objectKey, sha256, bytes, unpackedBytes }: NextSave): Promise<void> {
  await transaction.query({
    name: "advance-slot",
    text: `
      WITH superseded AS (
        UPDATE save_versions SET superseded_at = now() WHERE slot_id = $1 AND superseded_at IS NULL AND kind <> 'conflict'
      ), moved AS (
        UPDATE save_slots SET object_key = $3, sha256 = $4, bytes = $5, unpacked_bytes = $6, generation = generation + 1,
          saved_by_session = NULL, sequence = 0, attempt = 0, label = 'Playthrough ' || number
        WHERE id = $1 RETURNING generation
      )
      INSERT INTO save_versions (slot_id, kind, object_key, sha256, bytes, unpacked_bytes, generation)
      SELECT $1, $2::save_version_kind, $3, $4, $5, $6, generation FROM moved`,
    values: [slotId, kind, objectKey, sha256, bytes, unpackedBytes],
  });
}

/** Stores a slot without a save. The caller holds back launches, and the number is free. */
export async function insertSlot(transaction: Queryable, { id, userId, gameId, number, customLabel }: NewSlot): Promise<void> {
  await transaction.query({
    name: "insert-slot",
    text: "INSERT INTO save_slots (id, user_id, game_id, number, label, custom_label) VALUES ($1, $2, $3, $4, 'Playthrough ' || $4::text, $5)",
    values: [id, userId, gameId, number, customLabel],
  });
}

/** Gives a player's slot a name of their own, or takes it away; false when there is no such slot. */
export async function updateSlotLabel(db: Queryable, slotId: string, userId: string, label: string | null): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "rename-slot", text: "UPDATE save_slots SET custom_label = $3 WHERE id = $1 AND user_id = $2", values: [slotId, userId, label],
  });
  return rowCount === 1;
}

/** Removes a slot; a trigger has its saves swept after the retention. */
export async function deleteSlotRow(transaction: Queryable, slotId: string): Promise<void> {
  await transaction.query({ name: "delete-slot", text: "DELETE FROM save_slots WHERE id = $1", values: [slotId] });
}

/** Notes that these versions' object was found missing or damaged, or is whole again. */
export async function updateObjectReadable(db: Queryable, objectKey: string, isReadable: boolean): Promise<void> {
  await db.query({
    name: "note-object-readable",
    text: "UPDATE save_versions SET unreadable_at = CASE WHEN $2 THEN NULL ELSE COALESCE(unreadable_at, now()) END WHERE object_key = $1",
    values: [objectKey, isReadable],
  });
}

/** Has a slot's objects swept in an hour, as those of a slot that is gone: what a copy or an upload leaves whose process dies. */
export async function insertAbandonedSlotSweep(db: Queryable, slotId: string): Promise<void> {
  await db.query({
    name: "note-abandoned-slot",
    text: "INSERT INTO save_sweeps (slot_id, due_at, slot_deleted_at) VALUES ($1, now() + interval '1 hour', now()) ON CONFLICT (slot_id) DO NOTHING",
    values: [slotId],
  });
}

/** Takes that back: the slot is there. */
export async function deleteAbandonedSlotSweep(transaction: Queryable, slotId: string): Promise<void> {
  await transaction.query({ name: "forget-abandoned-slot", text: "DELETE FROM save_sweeps WHERE slot_id = $1", values: [slotId] });
}
