import type { Logger } from "#runtime/logger.ts";
import { DomainError } from "../../errors.ts";
import { abandonUpload, dropUploadLease, renewIntervalMs, renewUploadLease, takeUploadLease, type UploadLease } from "../uploadStore.ts";
import type { Postgres } from "../../stores/postgres.ts";

interface LeaseDeps {
  logger: Logger;
  postgres: Postgres;
}

/**
 * Runs `work` as the game's only upload; throws upload_in_progress when there is another. The signal is aborted when the
 * place is lost meanwhile. If `work` fails, what it may have left in the object store is the sweeper's to remove.
 */
export async function holdUploadLease<T>(deps: LeaseDeps, lease: UploadLease, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { pool } = deps.postgres;
  if (!await takeUploadLease(pool, lease)) {
    throw new DomainError("upload_in_progress", { message: "Another upload of this game is going on: wait for its end.", retryAfterSeconds: 10 });
  }
  const controller = new AbortController();
  const timer = setInterval(() => void renew(deps, lease, controller), renewIntervalMs);
  try {
    const result = await work(controller.signal);
    await dropUploadLease(pool, lease);
    return result;
  } catch (error) {
    await abandonUpload(pool, lease).catch((cause: unknown) => {
      deps.logger.warn({ err: cause, upload: lease.id }, "A failed upload could not be given up; its place becomes free by itself.");
    });
    throw error;
  } finally {
    clearInterval(timer);
  }
}

async function renew({ postgres, logger }: LeaseDeps, lease: UploadLease, controller: AbortController): Promise<void> {
  try {
    if (await renewUploadLease(postgres.pool, lease)) return;
    controller.abort(new DomainError("conflict", { message: "The game was deleted or uploaded again meanwhile." }));
  } catch (error) {
    logger.warn({ err: error, upload: lease.id }, "An upload's place could not be renewed; it is tried again.");
  }
}
