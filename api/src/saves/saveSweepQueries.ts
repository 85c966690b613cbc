import type { Queryable } from "../stores/queryable.ts";

/** A slot whose saves are due to be looked through. */
export interface SaveSweep {
  slotId: string;
  /** Counts what happened to the slot: a sweep during which more happened is not finished. */
  changes: number;
  /** When the slot was removed; null while it is there. */
  slotDeletedAt: Date | null;
}

/** A sweep whose process died is begun again after this long. */
const leaseMinutes = 10;

/** Leases the sweep that is due the longest; undefined when none is due. */
export async function lockDueSweep(db: Queryable): Promise<SaveSweep | undefined> {
  const { rows } = await db.query<SaveSweep>({
    name: "claim-due-sweep",
    text: `UPDATE save_sweeps SET due_at = now() + make_interval(mins => ${leaseMinutes})
      WHERE slot_id = (SELECT slot_id FROM save_sweeps WHERE due_at <= now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING slot_id AS "slotId", changes, slot_deleted_at AS "slotDeletedAt"`,
  });
  return rows[0];
}

/** Returns the object key of the slot's save: null when it has none yet, undefined when there is no such slot. */
export async function findSlotObjectKey(db: Queryable, slotId: string): Promise<string | null | undefined> {
  const { rows } = await db.query<{ objectKey: string | null }>({
    name: "read-slot-key", text: `SELECT object_key AS "objectKey" FROM save_slots WHERE id = $1`, values: [slotId],
  });
  return rows[0]?.objectKey;
}

/** Ends a sweep until the slot's next change, which makes a new one. Changes nothing when the slot has changed meanwhile. */
export async function deleteSweep(db: Queryable, { slotId, changes }: SaveSweep): Promise<void> {
  await db.query({ name: "end-sweep", text: "DELETE FROM save_sweeps WHERE slot_id = $1 AND changes = $2", values: [slotId, changes] });
}

/** Ends a sweep until `dueAt`. Changes nothing when the slot has changed meanwhile. */
export async function updateSweepDue(db: Queryable, { slotId, changes }: SaveSweep, dueAt: Date): Promise<void> {
  await db.query({ name: "defer-sweep", text: "UPDATE save_sweeps SET due_at = $3 WHERE slot_id = $1 AND changes = $2", values: [slotId, changes, dueAt] });
}
