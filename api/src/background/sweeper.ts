import type { Clock } from "#runtime/clock.ts";
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
import { RefusedRows } from "../stores/refusedRows.ts";
import { sweepRows } from "../stores/sweepRows.ts";

/** What sweeping needs. */
export interface SweeperDeps {
  config: { auth: { tokenLifetimeSeconds: number } };
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/** After so long, a launch that read the version just before it was superseded has committed. */
const supersededGraceSeconds = 60;
const statementsPerPassMax = 50;
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
export async function sweepUploads({ postgres, objectStore, logger, clock }: SweeperDeps, refused = new RefusedRows(clock)): Promise<void> {
  const archives = new ArchiveObjectStore(objectStore);
  await sweepRows({ postgres, refused }, {
    lock: lockDeadUpload,
    remove: ({ objectKey }) => archives.remove(objectKey),
    note: deleteUpload,
    logRemoved: ({ id }) => logger.info({ upload: id }, "The sweeper removed the remains of an interrupted upload."),
    logRefused: ({ id }, error) => logger.error({ err: error, upload: id }, "The sweeper could not remove the remains of an upload; it tries again."),
  });
}

/** Removes archives that are neither current nor played, nor those of a deleted game that its partner may restore. */
export async function sweepVersions({ postgres, objectStore, logger, clock }: SweeperDeps, refused = new RefusedRows(clock)): Promise<void> {
  const archives = new ArchiveObjectStore(objectStore);
  await sweepRows({ postgres, refused }, {
    lock: (transaction, except) => lockUnusedVersion(transaction, { graceSeconds: supersededGraceSeconds, deletedDays: deletedGameKeptDays, except }),
    remove: ({ objectKey }) => archives.remove(objectKey),
    note: updateVersionRemoved,
    logRemoved: ({ id }) => logger.info({ version: id }, "The sweeper removed a superseded archive."),
    logRefused: ({ id }, error) => logger.error({ err: error, version: id }, "The sweeper could not remove a superseded archive; it tries again."),
  });
}

/** Deletes idempotency keys that are too old to be repeated. */
export async function sweepIdempotencyKeys({ postgres }: Pick<SweeperDeps, "postgres">): Promise<void> {
  await repeatUpTo(statementsPerPassMax, async () => await deleteOldIdempotencyKeys(postgres.pool, rowsPerStatement) === rowsPerStatement);
}

/** Deletes sign-ins, ended or not, that nobody has a valid cookie of any more. */
export async function sweepAuthSessions({ postgres, config }: Pick<SweeperDeps, "postgres" | "config">): Promise<void> {
  const seconds = config.auth.tokenLifetimeSeconds + signInGraceSeconds;
  await repeatUpTo(statementsPerPassMax, async () => await deleteOldAuthSessions(postgres.pool, seconds, rowsPerStatement) === rowsPerStatement);
}
