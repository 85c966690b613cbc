import type { Queryable } from "../../stores/queryable.ts";

/** The part of an account that its player can change. */
export interface ProfileRow {
  name: string;
  email: string;
  image: string | null;
  deleteAt: Date | null;
}

/** Returns the player's profile; undefined for a deleted account. */
export async function findProfile(db: Queryable, userId: string): Promise<ProfileRow | undefined> {
  const {
    rows: [row],
  } = await db.query<ProfileRow>({
    name: "find-profile",
    text: `SELECT name, email, image, delete_at AS "deleteAt" FROM users WHERE id = $1`,
    values: [userId],
  });
  return row;
}

/** Sets the player's name. */
export async function updateUserName(db: Queryable, userId: string, name: string): Promise<void> {
  await db.query({
    name: "update-user-name",
    text: "UPDATE users SET name = $2, updated_at = now() WHERE id = $1",
    values: [userId, name],
  });
}

/** Sets the path of the player's picture; null for none. */
export async function updateUserImage(db: Queryable, userId: string, image: string | null): Promise<void> {
  await db.query({
    name: "update-user-image",
    text: "UPDATE users SET image = $2, updated_at = now() WHERE id = $1",
    values: [userId, image],
  });
}

/** Stores the player's picture in place of an earlier one. */
export async function upsertUserPicture(
  db: Queryable,
  { id, userId, type, content }: { id: string; userId: string; type: string; content: Buffer },
): Promise<void> {
  await db.query({
    name: "upsert-user-picture",
    text: `INSERT INTO user_pictures (id, user_id, type, content) VALUES ($1, $2, $3, $4)
           ON CONFLICT (user_id) DO UPDATE SET id = excluded.id, type = excluded.type, content = excluded.content, created_at = now()`,
    values: [id, userId, type, content],
  });
}

/** Deletes the player's picture, if there is one. */
export async function deleteUserPicture(db: Queryable, userId: string): Promise<void> {
  await db.query({
    name: "delete-user-picture",
    text: "DELETE FROM user_pictures WHERE user_id = $1",
    values: [userId],
  });
}

/** Returns a picture by its id; undefined if it is unknown. */
export async function findUserPicture(
  db: Queryable,
  id: string,
): Promise<{ type: string; content: Buffer } | undefined> {
  const {
    rows: [row],
  } = await db.query<{ type: string; content: Buffer }>({
    name: "find-user-picture",
    text: "SELECT type, content FROM user_pictures WHERE id = $1",
    values: [id],
  });
  return row;
}

/**
 * Sets the user's address, which counts as verified, and returns the former one; undefined for a disabled or
 * deleted account.
 *
 * @throws a unique violation when another account has the address
 */
export async function updateUserEmail(
  transaction: Queryable,
  userId: string,
  email: string,
): Promise<string | undefined> {
  const {
    rows: [row],
  } = await transaction.query<{ former: string }>({
    name: "update-user-email",
    text: `WITH before AS (SELECT id, email FROM users WHERE id = $1 AND disabled_at IS NULL FOR UPDATE)
           UPDATE users u SET email = $2, email_verified_at = now(), updated_at = now() FROM before
           WHERE u.id = before.id RETURNING before.email AS former`,
    values: [userId, email],
  });
  return row?.former;
}

/** Schedules the deletion of the account and returns its time; a scheduled one is not moved. */
export async function updateDeleteAt(db: Queryable, userId: string, days: number): Promise<Date | undefined> {
  const {
    rows: [row],
  } = await db.query<{ deleteAt: Date }>({
    name: "schedule-user-deletion",
    text: `UPDATE users SET delete_at = coalesce(delete_at, now() + make_interval(days => $2)), updated_at = now()
           WHERE id = $1 RETURNING delete_at AS "deleteAt"`,
    values: [userId, days],
  });
  return row?.deleteAt;
}

/** Cancels the deletion of the account. Returns whether one was scheduled. */
export async function updateDeletionCancelled(db: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await db.query({
    name: "cancel-user-deletion",
    text: "UPDATE users SET delete_at = NULL, updated_at = now() WHERE id = $1 AND delete_at IS NOT NULL",
    values: [userId],
  });
  return rowCount === 1;
}

/**
 * Locks an account whose deletion is due and returns its id; undefined without one. An account with an active
 * session waits for its end.
 */
export async function lockDueDeletion(transaction: Queryable): Promise<string | undefined> {
  const {
    rows: [row],
  } = await transaction.query<{ id: string }>({
    name: "lock-due-deletion",
    text: `SELECT id FROM users u WHERE delete_at < now() AND NOT EXISTS (
             SELECT FROM game_sessions s WHERE s.user_id = u.id AND s.status IN ('starting', 'running', 'stopping'))
           ORDER BY delete_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    values: [],
  });
  return row?.id;
}
