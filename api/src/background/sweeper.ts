import type { Logger } from "#runtime/logger.ts";
import { repeatUpTo } from "#runtime/repeatUpTo.ts";
import { deleteOldAuthSessions } from "../auth/authSessionQueries.ts";
import { ArchiveObjectStore } from "../games/upload/archiveObjectStore.ts";
import { lockUnusedVersion, updateVersionRemoved } from "../games/gameVersionQueries.ts";
import { deleteOldIdempotencyKeys } from "../http/idempotencyQueries.ts";
import { updateOverlongGameSessionsStopping } from "../gameSessions/gameSessionLifecycleQueries.ts";
import { deletedGameKeptDays } from "../games/partnerGameQueries.ts";
import { deleteUpload, lockDeadUpload } from "../games/upload/uploadQueries.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What sweeping needs. */
export interface SweeperDeps {
  config: { auth: { tokenLifetimeSeconds: number } };
  logger: Logger;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/** After so long, a launch that read the version just before it was superseded has committed. */
const supersededGraceSeconds = 60;
const rowsPerPassMax = 50;
/** So long no cookie of a sign-in outlives its lifetime, also where an outage of the database kept its last use from being noted. */
const signInGraceSeconds = 7 * 86_400;
const rowsPerStatement = 1000;

/** Stops sessions that have lasted as long as they may in the database and returns their ids; the recorder then stops them in the cluster. */
export async function sweepOverlong({ postgres, logger }: SweeperDeps): Promise<string[]> {
  const ids = await updateOverlongGameSessionsStopping(postgres.pool);
  for (const id of ids) logger.info({ gameSession: id }, "The sweeper stopped a game session at its longest duration.");
  return ids;
}

/** Removes what uploads left in the object store whose process died. */
export async function sweepUploads({ postgres, objectStore, logger }: SweeperDeps): Promise<void> {
  const archives = new ArchiveObjectStore(objectStore);
  await repeatUpTo(rowsPerPassMax, () => postgres.transaction(async (transaction) => {
    const upload = await lockDeadUpload(transaction);
    if (upload === undefined) return false;
    await archives.remove(upload.objectKey);
    await deleteUpload(transaction, upload);
    logger.info({ upload: upload.id }, "The sweeper removed the remains of an interrupted upload.");
    return true;
  }));
}

/** Removes archives that are neither current nor played, nor those of a deleted game that its partner may restore. */
export async function sweepVersions({ postgres, objectStore, logger }: SweeperDeps): Promise<void> {
  const archives = new ArchiveObjectStore(objectStore);
  await repeatUpTo(rowsPerPassMax, () => postgres.transaction(async (transaction) => {
    const version = await lockUnusedVersion(transaction, supersededGraceSeconds, deletedGameKeptDays);
    if (version === undefined) return false;
    await archives.remove(version.objectKey);
    await updateVersionRemoved(transaction, version);
    logger.info({ version: version.id }, "The sweeper removed a superseded archive.");
    return true;
  }));
}

/** Deletes idempotency keys that are too old to be repeated. */
export async function sweepIdempotencyKeys({ postgres }: Pick<SweeperDeps, "postgres">): Promise<void> {
  await repeatUpTo(rowsPerPassMax, async () => await deleteOldIdempotencyKeys(postgres.pool, rowsPerStatement) === rowsPerStatement);
}

/** Deletes sign-ins, ended or not, that nobody has a valid cookie of any more. */
export async function sweepAuthSessions({ postgres, config }: Pick<SweeperDeps, "postgres" | "config">): Promise<void> {
  const seconds = config.auth.tokenLifetimeSeconds + signInGraceSeconds;
  await repeatUpTo(rowsPerPassMax, async () => await deleteOldAuthSessions(postgres.pool, seconds, rowsPerStatement) === rowsPerStatement);
}
