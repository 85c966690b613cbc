import type { Queryable } from "../stores/queryable.ts";

/** A slot's turn to have its saves looked through. */
export interface SaveSweep {
  slotId: string;
  /** Counts what happened to the slot: a sweep that was overtaken does not end. */
  changes: number;
  /** When the slot was removed, and null while it is there. */
  slotDeletedAt: Date | null;
}

/** A sweep that died with its process is begun again after this long. */
const leaseMinutes = 10;

/** Takes the slot that is due the longest; undefined when none is. */
export async function claimDueSweep(db: Queryable): Promise<SaveSweep | undefined> {
  const { rows } = await db.query<SaveSweep>({
    name: "claim-due-sweep",
    text: `UPDATE save_sweeps SET due_at = now() + make_interval(mins => ${leaseMinutes})
      WHERE slot_id = (SELECT slot_id FROM save_sweeps WHERE due_at <= now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING slot_id AS "slotId", changes, slot_deleted_at AS "slotDeletedAt"`,
  });
  return rows[0];
}

/** Key of the slot's save: null when it has none yet, undefined when there is no such slot. */
export async function readSlotKey(db: Queryable, slotId: string): Promise<string | null | undefined> {
  const { rows } = await db.query<{ objectKey: string | null }>({
    name: "read-slot-key", text: `SELECT object_key AS "objectKey" FROM save_slots WHERE id = $1`, values: [slotId],
  });
  return rows[0]?.objectKey;
}

/** The slot has been looked through, and need not be again before `nextAt`, or before its next change. */
export async function endSweep(db: Queryable, { slotId, changes }: SaveSweep, nextAt: Date | undefined): Promise<void> {
  if (nextAt === undefined) {
    await db.query({ name: "end-sweep", text: "DELETE FROM save_sweeps WHERE slot_id = $1 AND changes = $2", values: [slotId, changes] });
  } else {
    await db.query({ name: "defer-sweep", text: "UPDATE save_sweeps SET due_at = $3 WHERE slot_id = $1 AND changes = $2", values: [slotId, changes, nextAt] });
  }
}
