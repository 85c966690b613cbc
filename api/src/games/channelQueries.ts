import type { Queryable } from "../stores/queryable.ts";
import { updateVersionsInUse } from "./gameVersionQueries.ts";

/** A channel of a game. */
export interface ListedChannel {
  name: string;
  /** Null for `default` until a version is current. */
  versionId: string | null;
}

/** Returns the game's channels, `default` first. */
export async function listChannels(db: Queryable, gameId: string): Promise<ListedChannel[]> {
  const { rows } = await db.query<ListedChannel>({
    name: "list-channels",
    text: `SELECT name, "versionId" FROM (
        SELECT 'default' AS name, current_version_id AS "versionId" FROM games WHERE id = $1
        UNION ALL SELECT name, version_id FROM game_channels WHERE game_id = $1) channels
      ORDER BY name <> 'default', name`,
    values: [gameId],
  });
  return rows.map(({ name, versionId }) => ({ name, versionId }));
}

/**
 * Makes a channel of a (locked) game lead to a (locked) version, and creates it if necessary. Returns false
 * and changes nothing when the game would have more than `channelsMax`.
 */
export async function upsertChannel(
  transaction: Queryable,
  gameId: string,
  { name, versionId, channelsMax }: { name: string; versionId: string; channelsMax: number },
): Promise<boolean> {
  const { rowCount } = await transaction.query({
    name: "upsert-channel",
    text: `INSERT INTO game_channels (game_id, name, version_id)
      SELECT $1, $2, $3 WHERE (SELECT count(*) FROM game_channels WHERE game_id = $1 AND name <> $2) < $4
      ON CONFLICT (game_id, name) DO UPDATE SET version_id = EXCLUDED.version_id, updated_at = now()`,
    values: [gameId, name, versionId, channelsMax],
  });
  if (rowCount === 0) return false;
  await noteChannels(transaction, gameId);
  return true;
}

/** Removes a channel of a (locked) game, with its testers and links; false if there is none. */
export async function deleteChannelRow(
  transaction: Queryable,
  gameId: string,
  name: string,
): Promise<boolean> {
  const { rowCount } = await transaction.query({
    name: "delete-channel",
    text: `WITH testers AS (DELETE FROM game_testers WHERE game_id = $1 AND channel = $2),
        links AS (DELETE FROM play_links WHERE game_id = $1 AND channel = $2)
      DELETE FROM game_channels WHERE game_id = $1 AND name = $2`,
    values: [gameId, name],
  });
  if (rowCount === 0) return false;
  await noteChannels(transaction, gameId);
  return true;
}

/** Makes the channels of a (locked) game lead to the replacement of a version whose archive is lost. */
export async function updateChannelsReplaced(
  transaction: Queryable,
  gameId: string,
  { lost, versionId }: { lost: string; versionId: string },
): Promise<void> {
  const { rowCount } = await transaction.query({
    name: "replace-in-channels",
    text: "UPDATE game_channels SET version_id = $2, updated_at = now() WHERE version_id = $1",
    values: [lost, versionId],
  });
  if (rowCount !== 0) await noteChannels(transaction, gameId);
}

/** Records which versions are in use now, and that the game's GameCache has to follow. */
async function noteChannels(transaction: Queryable, gameId: string): Promise<void> {
  await updateVersionsInUse(transaction, gameId);
  await transaction.query({
    name: "bump-cache-revision",
    text: "UPDATE games SET cache_revision = cache_revision + 1 WHERE id = $1",
    values: [gameId],
  });
}
