import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { limits } from "#contracts/limits.ts";
import { gameOutputBytes } from "#contracts/nodeLayout.ts";
import { runOutputKey, runsPrefix } from "#contracts/objectKeys.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { callObjectStore, isObjectMissing, type ObjectStore } from "../../stores/objectStore.ts";

const unpack = promisify(gunzip);
const dayMs = 24 * 3600_000;

interface StoredOutput {
  name: string;
  lastModified: Date;
}

/**
 * Returns the end of the output of a session's game, which is untrusted; undefined if none is stored. Throws
 * unavailable when the object store fails.
 */
export async function readRunOutput(
  { client, bucket, timeoutMs }: ObjectStore,
  gameSession: string,
): Promise<Buffer | undefined> {
  const what = "Reading the output of a game";
  const found = await callObjectStore(
    client.getObject(bucket, runOutputKey(gameSession)).catch((error: unknown) => {
      if (isObjectMissing(error)) return undefined;
      throw error;
    }),
    timeoutMs,
    what,
  );
  if (found === undefined) return undefined;
  const packed = await callObjectStore(buffer(found), timeoutMs, what).finally(() => found.destroy());
  return await unpack(packed, { maxOutputLength: gameOutputBytes });
}

/**
 * Removes outputs that are older than the retention, and the oldest ones above the maximum number. Throws
 * unavailable when the object store fails.
 */
export async function sweepRunOutputs({
  objectStore: { client, bucket, timeoutMs },
  clock,
  logger,
}: {
  objectStore: ObjectStore;
  clock: Pick<Clock, "now">;
  logger: Logger;
}): Promise<void> {
  const listing = client.listObjectsV2(bucket, runsPrefix, true);
  const stored = await callObjectStore(
    listing.toArray() as Promise<StoredOutput[]>,
    timeoutMs,
    "Listing the outputs of games",
  ).finally(() => listing.destroy());
  const keptSinceMs = clock.now().getTime() - limits.run.keptDays * dayMs;
  const expired = stored
    .toSorted((a, b) => b.lastModified.getTime() - a.lastModified.getTime())
    .filter(({ lastModified }, index) => index >= limits.run.kept || lastModified.getTime() < keptSinceMs)
    .map(({ name }) => name);
  if (expired.length === 0) return;
  await callObjectStore(client.removeObjects(bucket, expired), timeoutMs, "Removing the outputs of games");
  logger.info({ removed: expired.length }, "The sweeper removed old outputs of games.");
}
