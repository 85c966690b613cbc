import type { Logger } from "#runtime/logger.ts";
import { DomainError } from "../../errors.ts";
import {
  insertUploadLease,
  renewIntervalMaxMs,
  updateUploadAbandoned,
  updateUploadLease,
  type UploadLease,
  claimDeadUpload,
  deleteUpload,
} from "./uploadQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";
import type { Pace } from "../../archives/bodyReader.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import { RefusedRows, sweepRows } from "../../stores/sweepRows.ts";
import { ArchiveObjectStore } from "./archiveObjectStore.ts";

interface LeaseDeps {
  config: { partner: { uploadPace: Pace } };
  logger: Logger;
  postgres: Postgres;
}

/** An upload that holds a lease. */
interface LeasedUpload<T> {
  lease: UploadLease;
  /** Throws a DomainError when the upload must stop. Called with each renewal. */
  recheck: () => Promise<void>;
  /**
   * Releases the lease when it succeeds. Its signal aborts when the lease is lost or the upload must stop.
   */
  work: (signal: AbortSignal) => Promise<T>;
}

/**
 * Runs the work as the game's only upload and returns its result. If it fails, the sweeper removes what it
 * left in the object store.
 *
 * @throws upload_in_progress when another upload is in progress
 */
export async function holdUploadLease<T>(deps: LeaseDeps, upload: LeasedUpload<T>): Promise<T> {
  const { lease, work } = upload;
  const { pool } = deps.postgres;
  if (!(await insertUploadLease(pool, lease))) {
    throw new DomainError("upload_in_progress", {
      message: "Another upload of this game is in progress. Wait until it ends.",
      retryAfterSeconds: 10,
    });
  }
  const controller = new AbortController();
  // At least twice during the time that a client may be silent.
  const intervalMs = Math.min(renewIntervalMaxMs, deps.config.partner.uploadPace.idleMs / 2);
  const timer = setInterval(() => void renew(deps, upload, controller), intervalMs);
  try {
    return await work(controller.signal);
  } catch (error) {
    await updateUploadAbandoned(pool, lease).catch((cause: unknown) => {
      deps.logger.warn(
        { err: cause, upload: lease.id },
        "The API could not abandon a failed upload; its lease will expire.",
      );
    });
    throw error;
  } finally {
    clearInterval(timer);
  }
}

/** Returns the 409 for an upload whose lease was taken by another upload or ended by the game's deletion. */
export function lostUploadLease(): DomainError {
  return new DomainError("conflict", { message: "The game was deleted or uploaded again in the meantime." });
}

async function renew(
  { postgres, logger }: LeaseDeps,
  { lease, recheck }: LeasedUpload<unknown>,
  controller: AbortController,
): Promise<void> {
  try {
    await recheck();
    if (await updateUploadLease(postgres.pool, lease)) return;
    controller.abort(lostUploadLease());
  } catch (error) {
    if (error instanceof DomainError) controller.abort(error);
    else
      logger.warn(
        { err: error, upload: lease.id },
        "The API could not renew an upload's lease; it will retry.",
      );
  }
}

/** What sweeping uploads needs. */
export interface SweepUploadsDeps {
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/** Removes the remains of uploads whose process died. */
export async function sweepUploads(
  { postgres, objectStore, logger, clock }: SweepUploadsDeps,
  refused = new RefusedRows(clock),
): Promise<void> {
  const archives = new ArchiveObjectStore(objectStore);
  await sweepRows(
    { postgres, refused },
    {
      claim: claimDeadUpload,
      remove: ({ objectKey }) => archives.remove(objectKey),
      note: deleteUpload,
      logRemoved: ({ id }) =>
        logger.info({ upload: id }, "The sweeper removed the remains of an interrupted upload."),
      logRefused: ({ id }, error) =>
        logger.error(
          { err: error, upload: id },
          "The sweeper could not remove the remains of an upload; it will retry.",
        ),
    },
  );
}
