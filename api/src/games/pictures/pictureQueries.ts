import type { PictureType } from "#contracts/http/partners.ts";
import type { Queryable } from "../../stores/queryable.ts";

/**
 * Unreferenced pictures are kept for this time: longer than an upload takes, and longer than a page with the
 * previous picture takes to load.
 */
export const pictureGraceSeconds = 600;
/**
 * A picture must become current within this time, well before the sweeper removes it. In a transaction, the
 * current time is the time of its start.
 */
const storingSecondsMax = pictureGraceSeconds - 60;

/** A stored picture. */
export interface StoredPicture {
  id: string;
  gameId: string;
  sha256: string;
  type: PictureType;
  sizeBytes: number;
  width: number;
  height: number;
}

const columns = `p.id, p.game_id AS "gameId", p.sha256, p.type, p.size_bytes AS "sizeBytes", p.width, p.height`;

/** Returns the game's current picture; undefined if it has none. */
export async function findCurrentPicture(db: Queryable, gameId: string): Promise<StoredPicture | undefined> {
  const { rows } = await db.query<StoredPicture>({
    name: "current-picture",
    text: `SELECT ${columns} FROM games g JOIN game_pictures p ON p.id = g.picture_id WHERE g.id = $1`,
    values: [gameId],
  });
  return rows[0];
}

/**
 * Returns a picture by id, including a recently replaced one; undefined if it is unknown or its game is
 * deleted or hidden.
 */
export async function findPicture(db: Queryable, id: string): Promise<StoredPicture | undefined> {
  const { rows } = await db.query<StoredPicture>({
    name: "find-picture",
    text: `SELECT ${columns} FROM game_pictures p JOIN games g ON g.id = p.game_id WHERE p.id = $1 AND g.deleted_at IS NULL AND g.hidden_at IS NULL`,
    values: [id],
  });
  return rows[0];
}

/** Records a picture before it is stored, so the sweeper finds leftovers of a crashed process. */
export async function insertPicture(
  db: Queryable,
  { id, gameId, sha256, type, sizeBytes, width, height }: StoredPicture,
): Promise<void> {
  await db.query({
    name: "insert-picture",
    text: "INSERT INTO game_pictures (id, game_id, sha256, type, size_bytes, width, height) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    values: [id, gameId, sha256, type, sizeBytes, width, height],
  });
}

/** Locks the game until the transaction ends and returns its revision; undefined when it is deleted. */
export async function lockPicturedGame(transaction: Queryable, gameId: string): Promise<number | undefined> {
  const { rows } = await transaction.query<{ revision: number }>({
    name: "lock-pictured-game",
    text: "SELECT revision FROM games WHERE id = $1 AND deleted_at IS NULL FOR UPDATE",
    values: [gameId],
  });
  return rows[0]?.revision;
}

/**
 * Sets or removes the current picture of a (locked) game; false when the picture is so old that the sweeper
 * may remove it.
 */
export async function updateCurrentPicture(
  transaction: Queryable,
  gameId: string,
  pictureId: string | null,
): Promise<boolean> {
  const { rowCount } = await transaction.query({
    name: "keep-picture",
    text: `UPDATE game_pictures SET superseded_at = NULL
      WHERE id = $1 AND (superseded_at IS NULL OR superseded_at > now() - make_interval(secs => ${storingSecondsMax}))`,
    values: [pictureId],
  });
  if (pictureId !== null && rowCount !== 1) return false;
  await transaction.query({
    name: "switch-picture",
    text: `WITH superseded AS (
        UPDATE game_pictures SET superseded_at = now() WHERE game_id = $1 AND superseded_at IS NULL AND id IS DISTINCT FROM $2)
      UPDATE games SET picture_id = $2, updated_at = now() WHERE id = $1`,
    values: [gameId, pictureId],
  });
  return true;
}

/** Retention of pictures. */
export interface PictureRetention {
  /** Retention after the picture was replaced. */
  graceSeconds: number;
  /** Retention after the deletion of the game, plus an hour for restorations in progress. */
  deletedDays: number;
  except: readonly string[];
}

/**
 * Returns a picture that has been unreferenced for `graceSeconds`, or whose game was deleted more than
 * `deletedDays` ago. Skips the ids in `except`; undefined when no picture is due.
 */
export async function findUnusedPicture(
  db: Queryable,
  { graceSeconds, deletedDays, except }: PictureRetention,
): Promise<StoredPicture | undefined> {
  const { rows } = await db.query<StoredPicture>({
    name: "find-unused-picture",
    text: `SELECT ${columns} FROM game_pictures p
      WHERE p.superseded_at < now() - make_interval(secs => $1)
        AND NOT EXISTS (SELECT FROM games g WHERE g.picture_id = p.id AND g.deleted_at > now() - make_interval(days => $2::int, hours => 1))
        AND p.id <> ALL ($3::text[])
      ORDER BY p.superseded_at LIMIT 1`,
    values: [graceSeconds, deletedDays, except],
  });
  return rows[0];
}

/** Deletes the row of a picture. */
export async function deletePicture(db: Queryable, { id }: Pick<StoredPicture, "id">): Promise<void> {
  await db.query({ name: "delete-picture", text: "DELETE FROM game_pictures WHERE id = $1", values: [id] });
}
