import type { Queryable } from "../stores/queryable.ts";

/**
 * Notes that what is stored for a slot that is about to be made has to be removed, unless the slot is made:
 * its process may die before.
 */
export async function insertNewSlotSweep(db: Queryable, slotId: string): Promise<void> {
  await db.query({
    name: "note-new-slot",
    text: "INSERT INTO save_sweeps (slot_id, due_at, slot_deleted_at) VALUES ($1, now() + interval '1 hour', now())",
    values: [slotId],
  });
}

/** Takes the note back: the slot is made. */
export async function deleteNewSlotSweep(transaction: Queryable, slotId: string): Promise<void> {
  await transaction.query({
    name: "forget-new-slot",
    text: "DELETE FROM save_sweeps WHERE slot_id = $1",
    values: [slotId],
  });
}
