import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import { isAllowedFor, isVisibleTo } from "../games/gameVisibility.ts";
import type { Queryable } from "../stores/queryable.ts";

/** A game with what its saves need. */
export interface SavesGame {
  id: string;
  slug: string;
  /**
   * Whether the game is in the catalogue. Saves of an unavailable game can be downloaded or deleted, but not
   * played.
   */
  isListed: boolean;
  /** Whether an admin hides it from players. */
  isHidden: boolean;
  /** In MiB; null for the default. */
  saveLimitMb: number | null;
  /** Database time, from which ages of saves are computed. */
  now: Date;
}

/** A player's slot. */
export interface PlayerSlot {
  id: string;
  number: number;
  /** The player's name for the slot, or the default. */
  label: string;
  lastPlayedAt: Date;
  objectKey: string | null;
  generation: number;
  /** Duration of all its sessions, and of the save that it began with, in seconds. */
  playSeconds: number;
  /** Status of the session that owns the slot; null when none does. */
  ownerStatus: PublicStatus | null;
}

/** The player and the game whose slots are meant. */
export interface PlayerGameRef {
  userId: string;
  slug: string;
  /** Whether to find a hidden game too, or one that the player's groups do not see, for admins. */
  includesHidden?: boolean;
}

/** One slot of a player's game. */
export interface SlotRef extends PlayerGameRef {
  slotId: string;
}

/** A slot about to be created. */
interface NewSlot {
  id: string;
  userId: string;
  gameId: string;
  number: number;
  customLabel: string | null;
  /** Play time of the save that it begins with, in seconds. */
  priorPlaySeconds: number;
}

const gameColumns = `g.id, g.slug, g.save_limit_mb AS "saveLimitMb", ${isVisibleTo("$1")} AS "isListed", g.hidden_at IS NOT NULL AS "isHidden", now() AS "now"`;
const slotColumns = `
  s.id, s.number, COALESCE(s.custom_label, s.label) AS label, s.last_played_at AS "lastPlayedAt", s.object_key AS "objectKey", s.generation,
  s.prior_play_seconds + (SELECT coalesce(sum(p.duration_seconds), 0) FROM game_sessions p WHERE p.slot_id = s.id) AS "playSeconds",
  (SELECT o.status FROM game_sessions o WHERE o.slot_id = s.id AND o.slot_released_at IS NULL) AS "ownerStatus"`;

/**
 * Returns a game that is in the catalogue or of which the player has saves; undefined otherwise, and for a
 * game that is hidden or restricted to groups of others.
 */
export async function findSavesGame(
  db: Queryable,
  { userId, slug, includesHidden = false }: PlayerGameRef,
): Promise<SavesGame | undefined> {
  const { rows } = await db.query<SavesGame>({
    name: "find-saves-game",
    text: `SELECT ${gameColumns} FROM games g WHERE g.slug = $2 AND ((g.hidden_at IS NULL AND ${isAllowedFor("$1")}) OR $3::bool)
      AND (${isVisibleTo("$1")} OR EXISTS (SELECT FROM save_slots s WHERE s.game_id = g.id AND s.user_id = $1))`,
    values: [userId, slug, includesHidden],
  });
  return rows[0];
}

/** Returns the player's slots of a game, sorted by number. */
export async function listPlayerSlots(db: Queryable, userId: string, gameId: string): Promise<PlayerSlot[]> {
  const { rows } = await db.query<PlayerSlot>({
    name: "list-player-slots",
    text: `SELECT ${slotColumns} FROM save_slots s WHERE s.user_id = $1 AND s.game_id = $2 ORDER BY s.number`,
    values: [userId, gameId],
  });
  return rows;
}

/** Stores a slot without a save. The caller holds the launch lock and chooses a free number. */
export async function insertSlot(
  transaction: Queryable,
  { id, userId, gameId, number, customLabel, priorPlaySeconds }: NewSlot,
): Promise<void> {
  await transaction.query({
    name: "insert-slot",
    text: `INSERT INTO save_slots (id, user_id, game_id, number, label, custom_label, prior_play_seconds)
      VALUES ($1, $2, $3, $4::smallint, COALESCE($5, 'Playthrough ' || $4::smallint), $5, $6)`,
    values: [id, userId, gameId, number, customLabel, priorPlaySeconds],
  });
}

/** Renames a slot; null restores the default. */
export async function updateSlotLabel(db: Queryable, slotId: string, label: string | null): Promise<void> {
  await db.query({
    name: "rename-slot",
    text: `UPDATE save_slots SET custom_label = $2,
      label = COALESCE($2, CASE WHEN object_key IS NULL THEN 'New playthrough' ELSE 'Playthrough ' || number END) WHERE id = $1`,
    values: [slotId, label],
  });
}

/** Deletes a slot; a trigger schedules the removal of its saves after the retention. */
export async function deleteSlotRow(transaction: Queryable, slotId: string): Promise<void> {
  await transaction.query({
    name: "delete-slot",
    text: "DELETE FROM save_slots WHERE id = $1",
    values: [slotId],
  });
}

/**
 * Schedules the removal of the objects of a slot that is being created, in case the process dies before the
 * commit.
 */
export async function insertNewSlotSweep(db: Queryable, slotId: string): Promise<void> {
  await db.query({
    name: "note-new-slot",
    text: "INSERT INTO save_sweeps (slot_id, due_at, slot_deleted_at) VALUES ($1, now() + interval '1 hour', now())",
    values: [slotId],
  });
}

/** Cancels that removal: the slot is created. */
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
