import { KeptQuality, type LaunchQuality } from "#contracts/http/streamQuality.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Returns a player's kept choice as the database has it; the site's own when they made none, or one that this release does not know. */
function readKeptQuality(stored: unknown): KeptQuality {
  return KeptQuality.safeParse(stored).data ?? {};
}

/** Returns the quality of a launch: what it asks for, or the player's kept choice where it names nothing but a bitrate to start with. */
export function launchedQuality(asked: LaunchQuality | undefined, stored: unknown): LaunchQuality {
  const { startKbps, ...choice } = asked ?? {};
  if (Object.keys(choice).length > 0) return { ...asked };
  return { ...readKeptQuality(stored), ...(startKbps === undefined ? {} : { startKbps }) };
}

/** Returns the player's kept choice. */
export async function findKeptQuality(db: Queryable, userId: string): Promise<KeptQuality> {
  const { rows: [user] } = await db.query<{ quality: unknown }>({
    name: "find-stream-quality", text: "SELECT stream_quality AS quality FROM users WHERE id = $1", values: [userId],
  });
  return readKeptQuality(user?.quality);
}

/** Keeps the player's choice for the launches to come. */
export async function updateKeptQuality(db: Queryable, userId: string, quality: KeptQuality): Promise<void> {
  await db.query({
    name: "update-stream-quality", text: "UPDATE users SET stream_quality = $2, updated_at = now() WHERE id = $1", values: [userId, JSON.stringify(quality)],
  });
}
