import type { Logger } from "#runtime/logger.ts";
import { ArchiveStore } from "../games/upload/archiveStore.ts";
import { claimUnusedVersion, markVersionRemoved } from "../games/gameVersionStore.ts";
import { deleteOldIdempotencyKeys } from "../http/idempotencyStore.ts";
import { beginIdleStops } from "../gameSessions/relayStore.ts";
import { claimDeadUpload, deleteUpload } from "../games/uploadStore.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What sweeping needs. */
export interface SweeperDeps {
  logger: Logger;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/** A launch that read the version just before it was superseded has committed long since. */
const supersededGraceSeconds = 60;
const mostPerPass = 50;
const oldKeysAtOnce = 1000;

/** Begins the end of idle sessions; returns their ids, for the recorder to tell the cluster. */
export async function sweepIdle({ postgres, logger }: SweeperDeps): Promise<string[]> {
  const ids = await beginIdleStops(postgres.pool);
  for (const id of ids) logger.info({ gameSession: id }, "A game session is stopped because it was idle.");
  return ids;
}

/** Removes what uploads left in the object store that were cut with their process. */
export async function sweepUploads({ postgres, objectStore, logger }: SweeperDeps): Promise<void> {
  const archives = new ArchiveStore(objectStore);
  await upTo(mostPerPass, () => postgres.transaction(async (transaction) => {
    const upload = await claimDeadUpload(transaction);
    if (upload === undefined) return false;
    await archives.remove(upload.objectKey);
    await deleteUpload(transaction, upload);
    logger.info({ upload: upload.id }, "The remains of a cut upload were removed.");
    return true;
  }));
}

/** Removes archives that are neither current nor played. */
export async function sweepVersions({ postgres, objectStore, logger }: SweeperDeps): Promise<void> {
  const archives = new ArchiveStore(objectStore);
  await upTo(mostPerPass, () => postgres.transaction(async (transaction) => {
    const version = await claimUnusedVersion(transaction, supersededGraceSeconds);
    if (version === undefined) return false;
    await archives.remove(version.objectKey);
    await markVersionRemoved(transaction, version);
    logger.info({ version: version.id }, "A superseded archive was removed.");
    return true;
  }));
}

/** Forgets the responses to keys that are too old to be asked for. */
export async function sweepIdempotencyKeys({ postgres }: Pick<SweeperDeps, "postgres">): Promise<void> {
  await upTo(mostPerPass, async () => await deleteOldIdempotencyKeys(postgres.pool, oldKeysAtOnce) === oldKeysAtOnce);
}

async function upTo(most: number, work: () => Promise<boolean>): Promise<void> {
  for (let count = 0; count < most; count++) {
    if (!await work()) return;
  }
}
