import type { Queryable } from "../stores/queryable.ts";
import type { Redis } from "../stores/redis.ts";

/** What the cache says of a sign-in that is over; of others it says the second that they began in. */
export const revoked = "revoked";

/** Where the cache keeps what it knows of a sign-in. */
export function authSessionCacheKey(id: string): string {
  return `joypod:authSession:${id}`;
}

/** Ends every sign-in of a user in the database, and gives their ids: the cache must be told after the commit. */
export async function revokeRowsOf(transaction: Queryable, userId: string): Promise<string[]> {
  const { rows } = await transaction.query<{ id: string }>(
    "UPDATE auth_sessions SET revoked_at = now() WHERE user_id = $1 AND revoked_at IS NULL RETURNING id", [userId],
  );
  return rows.map(({ id }) => id);
}

/** Tells the cache of ended sign-ins; false when it could not be told, and may call them active for up to a minute more. */
export async function announceRevoked(redis: Redis, ids: readonly string[], seconds: number): Promise<boolean> {
  const told = await Promise.all(ids.map((id) => redis.set(authSessionCacheKey(id), revoked, "EX", seconds).then(() => true, () => false)));
  return !told.includes(false);
}
