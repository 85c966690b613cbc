import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { parseSaveKey } from "#contracts/objectKeys.ts";
import type { Queryable } from "../stores/queryable.ts";

/**
 * Points the slot to a newer save; false when it did not. Compare-and-set: the slot still is what the session started from,
 * or holds an earlier save of the same session; a late save of an older session changes nothing.
 */
export async function updateSlotSave(db: Queryable, slotId: string, gameSession: string, save: StoredSave): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "move-slot",
    text: `UPDATE save_slots SET object_key = $3, sha256 = $4, bytes = $5, generation = $6, sequence = $7, saved_by_session = $2,
        attempt = $9, unpacked_bytes = $10,
        label = 'Playthrough ' || number, last_played_at = GREATEST(last_played_at, $8)
      WHERE id = $1 AND (generation = $6 - 1
        OR (generation = $6 AND saved_by_session = $2 AND (sequence, attempt) < ($7, $9)))`,
    values: [
      slotId, gameSession, save.objectKey, save.sha256, save.bytes, save.generation, save.sequence, save.persistedAt,
      parseSaveKey(save.objectKey)?.attempt ?? 0, save.unpackedBytes ?? null,
    ],
  });
  return rowCount === 1;
}

/** Notes that the slot was played until now; `isPending` while its last save is still on its node. */
export async function updateSlotPlayed(db: Queryable, slotId: string, gameSession: string, isPending: boolean): Promise<void> {
  await db.query({
    name: "mark-slot-played",
    text: "UPDATE save_slots SET last_played_at = GREATEST(last_played_at, now()), pending_session = CASE WHEN $3 THEN $2 END WHERE id = $1",
    values: [slotId, gameSession, isPending],
  });
}

/** Lets the slot of that session be played again: its last save has come, or never will. */
export async function updateSlotUnlocked(db: Queryable, gameSession: string): Promise<void> {
  await db.query({
    name: "unlock-slot",
    text: "UPDATE save_slots SET pending_session = NULL WHERE pending_session = $1",
    values: [gameSession],
  });
}

/** Removes the slot that this launch made and never used: both were stored in one transaction, at one moment. */
export async function deleteUnusedSlot(db: Queryable, gameSession: string): Promise<void> {
  await db.query({
    name: "remove-unused-slot",
    text: `DELETE FROM save_slots USING game_sessions s
      WHERE s.id = $1 AND save_slots.id = s.slot_id AND save_slots.object_key IS NULL AND save_slots.created_at >= s.started_at`,
    values: [gameSession],
  });
}
