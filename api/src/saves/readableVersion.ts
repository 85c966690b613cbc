import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { checkSave, createDigestGate, openSave } from "./savedObject.ts";
import { unreadableSave, requireVersion, type HistoryVersion, type SlotHistory } from "./slotHistory.ts";
import { updateObjectReadable, type SaveVersion } from "./saveVersionQueries.ts";
import { SharedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { DomainError, unavailable } from "../errors.ts";
import { pipeline, type Readable } from "node:stream";

/** Dependencies of checking a version. */
export interface ReadableVersionDeps {
  logger: Logger;
  postgres: Postgres;
  objectStore: ObjectStore;
  saveReads: SharedQueue;
}

/**
 * Reads the complete version of the player's slot, within the concurrency limit, and returns it. Records a
 * missing or damaged version.
 *
 * @throws unreadable_save, which names the version before it, not_found, conflict during too many reads of
 *   the player, unavailable
 */
export async function requireReadableVersion(
  { logger, postgres, objectStore, saveReads }: ReadableVersionDeps,
  userId: string,
  slot: SlotHistory,
  versionId: string,
): Promise<HistoryVersion> {
  const version = requireVersion(slot, versionId);
  const found = await saveReads.run(userId, () => checkSave(objectStore, version));
  await updateObjectReadable(postgres.pool, version, found === "whole");
  if (found === "whole") return version;
  logger.error(
    { slot: slot.id, version: version.id, objectKey: version.objectKey, found },
    "A save is unreadable.",
  );
  throw unreadableSave(slot, version);
}

const deadlineMs = 20_000;
const retrySeconds = 10;

/**
 * Returns a queue that limits how many whole saves are read at once for players: four in total and one per
 * player. It throws `conflict` when a player has too many waiting reads, and `unavailable` when all players
 * together do.
 */
export function createSaveReadQueue(): SharedQueue {
  return new SharedQueue({
    all: {
      concurrency: 4,
      waitingMax: 32,
      deadlineMs,
      tooMany: () => unavailable("Too many saves are being read right now. Try again in a moment."),
    },
    each: { concurrency: 1, waitingMax: 4, deadlineMs, tooMany: tooManyOfPlayer },
  });
}

function tooManyOfPlayer(): DomainError {
  return new DomainError("conflict", {
    message: "Another of your saves is being read. Try again in a moment.",
    retryAfterSeconds: retrySeconds,
  });
}

/** A version that is being downloaded. */
interface SaveDownload {
  version: SaveVersion;
  /** Ends with an error, before the last bytes are sent, if the digest does not match. */
  stream: Readable;
}

/**
 * Opens a version for its player. It is read twice: once before the response, so that a damaged save can
 * still be refused, and once while it is sent.
 *
 * @throws not_found, unreadable_save, conflict during too many reads of the player, unavailable
 */
export async function downloadSave(
  deps: ReadableVersionDeps,
  userId: string,
  slot: SlotHistory,
  versionId: string,
): Promise<SaveDownload> {
  const version = await requireReadableVersion(deps, userId, slot, versionId);
  const source = await openSave(deps.objectStore, version);
  if (source === undefined) throw unreadableSave(slot, version);
  return { version, stream: gated(deps.logger, source, version) };
}

function gated(logger: Logger, source: Readable, version: SaveVersion): Readable {
  const gate = createDigestGate(version);
  pipeline(source, gate, (error) => {
    // Clients that disconnect are not reported.
    if (error && error.code !== "ERR_STREAM_PREMATURE_CLOSE")
      logger.warn({ err: error, objectKey: version.objectKey }, "A download of a save was interrupted.");
  });
  return gate;
}

/** Returns the file name for the download of a version. */
export function downloadName(
  slug: string,
  { number }: Pick<SlotHistory, "number">,
  { storedAt }: Pick<SaveVersion, "storedAt">,
): string {
  return `${slug}-slot${number}-${storedAt.toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}.tar.gz`;
}
