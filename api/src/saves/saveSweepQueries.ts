import type { Queryable } from "../stores/queryable.ts";
import type { SlotRecord } from "./sweepPlan.ts";

/** A slot whose saves are due for a sweep. */
export interface SaveSweep {
  slotId: string;
  /** Number of changes to the slot. A sweep during which it increases is not finished. */
  changes: number;
}

/** A sweep whose process died is started again after this time. */
const leaseMinutes = 10;

/** Leases the sweep that is overdue the longest; undefined when no sweep is due. */
export async function lockDueSweep(db: Queryable): Promise<SaveSweep | undefined> {
  const { rows } = await db.query<SaveSweep>({
    name: "claim-due-sweep",
    text: `UPDATE save_sweeps SET due_at = now() + make_interval(mins => ${leaseMinutes})
      WHERE slot_id = (SELECT slot_id FROM save_sweeps WHERE due_at <= now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING slot_id AS "slotId", changes`,
  });
  return rows[0];
}

/** Recorded state of a slot to sweep. */
export type SweptSlotRecord = Omit<SlotRecord, "versions"> & {
  /** ISO 8601. */
  lastPlayedAt: string;
};

/** State of a slot at the start of its sweep. */
export interface SweptSlot {
  /** Null when the slot does not exist. */
  slot: SweptSlotRecord | null;
  /** When the slot was deleted; null while it exists, or when it is missing without a deletion. */
  deletedAt: Date | null;
}

/** Returns the slot of a sweep; undefined when the sweep is gone. */
export async function findSweptSlot(db: Queryable, slotId: string): Promise<SweptSlot | undefined> {
  const { rows } = await db.query<SweptSlot>({
    name: "read-swept-slot",
    text: `SELECT w.slot_deleted_at AS "deletedAt", CASE WHEN s.id IS NOT NULL THEN json_build_object(
          'objectKey', s.object_key, 'generation', s.generation, 'savedBySession', s.saved_by_session, 'sequence', s.sequence,
          'attempt', s.attempt, 'lastPlayedAt', s.last_played_at, 'seenKey', w.seen_key,
          'owner', (SELECT o.id FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL)) END AS slot
      FROM save_sweeps w LEFT JOIN save_slots s ON s.id = w.slot_id WHERE w.slot_id = $1`,
    values: [slotId],
  });
  return rows[0];
}

/** Deletes these versions of a slot, or all of them if no ids are given. */
export async function deleteSaveVersions(
  db: Queryable,
  slotId: string,
  ids?: readonly string[],
): Promise<void> {
  await db.query({
    name: "delete-versions",
    text: "DELETE FROM save_versions WHERE slot_id = $1 AND ($2::text[] IS NULL OR id = ANY ($2))",
    values: [slotId, ids ?? null],
  });
}

/** Deletes a sweep; the slot's next change creates a new one. A no-op when the slot has changed since. */
export async function deleteSweep(db: Queryable, { slotId, changes }: SaveSweep): Promise<void> {
  await db.query({
    name: "end-sweep",
    text: "DELETE FROM save_sweeps WHERE slot_id = $1 AND changes = $2",
    values: [slotId, changes],
  });
}

/** Defers a sweep that saw the slot at `seenKey` until `dueAt`. A no-op when the slot has changed since. */
export async function updateSweepDue(
  db: Queryable,
  { slotId, changes }: SaveSweep,
  dueAt: Date,
  seenKey: string | null,
): Promise<void> {
  await db.query({
    name: "defer-sweep",
    text: "UPDATE save_sweeps SET due_at = $3, seen_key = $4 WHERE slot_id = $1 AND changes = $2",
    values: [slotId, changes, dueAt, seenKey],
  });
}
