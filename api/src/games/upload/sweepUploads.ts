import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { RefusedRows } from "../../stores/refusedRows.ts";
import { sweepRows } from "../../stores/sweepRows.ts";
import { ArchiveObjectStore } from "./archiveObjectStore.ts";
import { claimDeadUpload, deleteUpload } from "./uploadQueries.ts";

/** What sweeping uploads needs. */
export interface SweepUploadsDeps {
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/** Removes what uploads left in the object store whose process died. */
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
          "The sweeper could not remove the remains of an upload; it tries again.",
        ),
    },
  );
}
