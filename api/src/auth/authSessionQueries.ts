import type { Queryable } from "../stores/queryable.ts";

/** Stores a sign-in of the user that began then. */
export async function insertAuthSession(db: Queryable, id: string, userId: string, startedAt: Date): Promise<void> {
  await db.query({
    name: "authSession.create",
    text: "INSERT INTO auth_sessions (id, user_id, created_at) VALUES ($1, $2, $3)",
    values: [id, userId, startedAt],
  });
}

/**
 * Notes that the user's sign-in was used now and returns when it began, in whole seconds of the epoch; undefined when it is revoked,
 * or its user disabled.
 */
export async function updateAuthSessionSeen(db: Queryable, id: string, userId: string): Promise<number | undefined> {
  const { rows: [row] } = await db.query<{ startedAt: number }>({
    name: "authSession.touch",
    text: `UPDATE auth_sessions SET last_seen_at = now() FROM users
             WHERE auth_sessions.id = $1 AND auth_sessions.user_id = $2 AND auth_sessions.revoked_at IS NULL
               AND users.id = auth_sessions.user_id AND users.disabled_at IS NULL
             RETURNING floor(extract(epoch FROM auth_sessions.created_at))::float8 AS "startedAt"`,
    values: [id, userId],
  });
  return row?.startedAt;
}

/** Revokes one sign-in. */
export async function updateAuthSessionRevoked(db: Queryable, id: string): Promise<void> {
  await db.query({
    name: "authSession.revoke",
    text: "UPDATE auth_sessions SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL",
    values: [id],
  });
}

/** Revokes every sign-in of the user and returns the ids of those that were not revoked before: the cache must learn of them after the commit. */
export async function updateAuthSessionsRevoked(db: Queryable, userId: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    "UPDATE auth_sessions SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL RETURNING id", [userId],
  );
  return rows.map(({ id }) => id);
}
