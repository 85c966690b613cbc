import type { Redis } from "../stores/redis.ts";

/**
 * The cache's value for a sign-in that is over; for others it is the second of the epoch in which they began.
 */
export const revoked = "revoked";

/** Returns the cache's key for a sign-in. */
export function authSessionCacheKey(id: string): string {
  return `joypod:authSession:${id}`;
}

/**
 * Tells the cache which sign-ins have ended; resolves with false when it did not learn it and may call them
 * active for up to a minute more.
 */
export async function announceRevoked(
  redis: Redis,
  ids: readonly string[],
  seconds: number,
): Promise<boolean> {
  const outcomes = await Promise.all(
    ids.map((id) =>
      redis.set(authSessionCacheKey(id), revoked, "EX", seconds).then(
        () => true,
        () => false,
      ),
    ),
  );
  return !outcomes.includes(false);
}
