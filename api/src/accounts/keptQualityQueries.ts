import { KeptQuality } from "#contracts/http/streamQuality.ts";
import type { Queryable } from "../stores/queryable.ts";

/**
 * Returns a player's kept choice as the database has it; the site's own when they made none, or one that this
 * release does not know.
 */
export function readKeptQuality(stored: unknown): KeptQuality {
  return KeptQuality.safeParse(stored).data ?? {};
}

/** Returns the player's kept choice. */
export async function findKeptQuality(db: Queryable, userId: string): Promise<KeptQuality> {
  const {
    rows: [user],
  } = await db.query<{ quality: unknown }>({
    name: "find-stream-quality",
    text: "SELECT stream_quality AS quality FROM users WHERE id = $1",
    values: [userId],
  });
  return readKeptQuality(user?.quality);
}

/** Keeps the player's choice for the launches to come. */
export async function updateKeptQuality(db: Queryable, userId: string, quality: KeptQuality): Promise<void> {
  await db.query({
    name: "update-stream-quality",
    text: "UPDATE users SET stream_quality = $2, updated_at = now() WHERE id = $1",
    values: [userId, JSON.stringify(quality)],
  });
}
