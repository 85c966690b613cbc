import type { Logger } from "#runtime/logger.ts";
import { DomainError } from "../../errors.ts";
import { deleteUploadLease, insertUploadLease, renewIntervalMs, updateUploadAbandoned, updateUploadLease, type UploadLease } from "../uploadQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";

interface LeaseDeps {
  logger: Logger;
  postgres: Postgres;
}

/**
 * Runs `work` as the game's only upload and returns its result. The signal is aborted when the lease is lost meanwhile. When `work` fails,
 * the sweeper removes what it left in the object store. Throws upload_in_progress when there is another upload.
 */
export async function holdUploadLease<T>(deps: LeaseDeps, lease: UploadLease, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { pool } = deps.postgres;
  if (!await insertUploadLease(pool, lease)) {
    throw new DomainError("upload_in_progress", { message: "Another upload of this game is going on: wait for its end.", retryAfterSeconds: 10 });
  }
  const controller = new AbortController();
  const timer = setInterval(() => void renew(deps, lease, controller), renewIntervalMs);
  try {
    const result = await work(controller.signal);
    await deleteUploadLease(pool, lease);
    return result;
  } catch (error) {
    await updateUploadAbandoned(pool, lease).catch((cause: unknown) => {
      deps.logger.warn({ err: cause, upload: lease.id }, "The API could not abandon a failed upload; its lease expires by itself.");
    });
    throw error;
  } finally {
    clearInterval(timer);
  }
}

async function renew({ postgres, logger }: LeaseDeps, lease: UploadLease, controller: AbortController): Promise<void> {
  try {
    if (await updateUploadLease(postgres.pool, lease)) return;
    controller.abort(new DomainError("conflict", { message: "The game was deleted or uploaded again meanwhile." }));
  } catch (error) {
    logger.warn({ err: error, upload: lease.id }, "The API could not renew an upload's lease; it tries again.");
  }
}
