import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import type { Queryable } from "../stores/queryable.ts";

/** A game as far as its saves are concerned. */
export interface SavesGame {
  id: string;
  slug: string;
  /** Whether the catalogue has it: saves of a game that is gone can be taken away, but not played. */
  isListed: boolean;
  /** MiB; null for the default. */
  saveLimitMb: number | null;
  /** The database's time, from which ages of saves are computed. */
  now: Date;
}

/** A player's slot. */
export interface PlayerSlot {
  id: string;
  number: number;
  /** The player's own name for it, or else the first one. */
  label: string;
  lastPlayedAt: Date;
  objectKey: string | null;
  generation: number;
  /** Status of the session that owns the slot; null when none does. */
  ownerStatus: PublicStatus | null;
}

/** Whose slots of which game. */
export interface SlotsOf {
  userId: string;
  slug: string;
}

/** One of them. */
export interface SlotOf extends SlotsOf {
  slotId: string;
}

/** A slot about to be made. */
interface NewSlot {
  id: string;
  userId: string;
  gameId: string;
  number: number;
  customLabel: string | null;
}

const gameColumns = `g.id, g.slug, g.save_limit_mb AS "saveLimitMb", g.status = 'active' AND g.deleted_at IS NULL AS "isListed", now() AS "now"`;
const slotColumns = `
  s.id, s.number, COALESCE(s.custom_label, s.label) AS label, s.last_played_at AS "lastPlayedAt", s.object_key AS "objectKey", s.generation,
  (SELECT o.status FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL) AS "ownerStatus"`;

/**
 * Returns a game that the player may ask about: one of the catalogue, or one that is gone and of which the
 * player has saves.
 */
export async function findSavesGame(
  db: Queryable,
  { userId, slug }: SlotsOf,
): Promise<SavesGame | undefined> {
  const { rows } = await db.query<SavesGame>({
    name: "find-saves-game",
    text: `SELECT ${gameColumns} FROM games g WHERE g.slug = $2
      AND (g.status = 'active' AND g.deleted_at IS NULL OR EXISTS (SELECT FROM save_slots s WHERE s.game_id = g.id AND s.user_id = $1))`,
    values: [userId, slug],
  });
  return rows[0];
}

/** Returns the player's slots of a game, by number. */
export async function listPlayerSlots(db: Queryable, userId: string, gameId: string): Promise<PlayerSlot[]> {
  const { rows } = await db.query<PlayerSlot>({
    name: "list-player-slots",
    text: `SELECT ${slotColumns} FROM save_slots s WHERE s.user_id = $1 AND s.game_id = $2 ORDER BY s.number`,
    values: [userId, gameId],
  });
  return rows;
}

/** Stores a slot without a save. The caller holds back launches, and the number is free. */
export async function insertSlot(
  transaction: Queryable,
  { id, userId, gameId, number, customLabel }: NewSlot,
): Promise<void> {
  await transaction.query({
    name: "insert-slot",
    text: `INSERT INTO save_slots (id, user_id, game_id, number, label, custom_label)
      VALUES ($1, $2, $3, $4::smallint, COALESCE($5, 'Playthrough ' || $4::smallint), $5)`,
    values: [id, userId, gameId, number, customLabel],
  });
}

/** Renames a slot; null stands for its first name. */
export async function updateSlotLabel(db: Queryable, slotId: string, label: string | null): Promise<void> {
  await db.query({
    name: "rename-slot",
    text: `UPDATE save_slots SET custom_label = $2,
      label = COALESCE($2, CASE WHEN object_key IS NULL THEN 'New playthrough' ELSE 'Playthrough ' || number END) WHERE id = $1`,
    values: [slotId, label],
  });
}

/** Removes a slot; a trigger has its saves swept after the retention. */
export async function deleteSlotRow(transaction: Queryable, slotId: string): Promise<void> {
  await transaction.query({
    name: "delete-slot",
    text: "DELETE FROM save_slots WHERE id = $1",
    values: [slotId],
  });
}

/**
 * Records that the objects of a slot that is being created must be removed unless it is committed, in case
 * the process dies.
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

/**
 * Takes the launch lock until the transaction ends. Launches decide one at a time, so two never take the same
 * last place on a node. Changes to save slots take the same lock, so no launch starts from a save that is
 * being replaced. The number is an arbitrary constant shared by all replicas.
 */
export const lockLaunches = "SELECT pg_advisory_xact_lock(7264010332)";
