import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { checkSave } from "./savedObject.ts";
import type { SaveReads } from "./saveReads.ts";
import { unreadableSave, versionOf } from "./saveVersion.ts";
import { updateObjectReadable } from "./saveCheckQueries.ts";
import type { SaveVersion } from "./saveVersionQueries.ts";
import type { SlotHistory } from "./slotHistory.ts";

/** What making sure of a version needs. */
export interface ReadableVersionDeps {
  logger: Logger;
  postgres: Postgres;
  objectStore: ObjectStore;
  saveReads: SaveReads;
}

/**
 * Reads all of the version of the user's slot, when few enough others are read, and returns it. One that is
 * missing or damaged is noted as such. Throws unreadable_save, which names the version before it, not_found,
 * conflict while too many others of the user are read, and unavailable.
 */
export async function readableVersion(
  { logger, postgres, objectStore, saveReads }: ReadableVersionDeps,
  userId: string,
  slot: SlotHistory,
  versionId: string,
): Promise<SaveVersion> {
  const version = versionOf(slot, versionId);
  const found = await saveReads.run(userId, () => checkSave(objectStore, version));
  await updateObjectReadable(postgres.pool, version, found === "whole");
  if (found === "whole") return version;
  logger.error(
    { slot: slot.id, version: version.id, objectKey: version.objectKey, found },
    "A save is unreadable.",
  );
  throw unreadableSave(slot, version);
}
