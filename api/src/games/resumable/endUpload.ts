import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { notFound, type DomainError } from "../../errors.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { RefusedRows, sweepRows } from "../../stores/sweepRows.ts";
import {
  claimExpiredUpload,
  deleteResumableUpload,
  updateUploadEnded,
  type EndedUpload,
} from "./resumableQueries.ts";
import { UploadObjects } from "./uploadObjects.ts";

/** What ending uploads needs. */
export interface EndUploadDeps {
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/**
 * Ends an upload in any state and removes what it has stored. A version that it has become stays.
 *
 * @throws not_found
 */
export async function endUpload(deps: EndUploadDeps, gameId: string, id: string): Promise<void> {
  const ended = await updateUploadEnded(deps.postgres.pool, gameId, id);
  if (ended === undefined) throw noSuchUpload(id);
  await removeObjects(deps.objectStore, ended).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, upload: id },
      "The API could not remove the chunks of an ended upload; the sweeper will retry.",
    );
  });
}

/** Removes uploads that were ended or have expired, with everything that they have stored. */
export async function sweepResumableUploads(
  { postgres, objectStore, logger, clock }: EndUploadDeps,
  refused = new RefusedRows(clock),
): Promise<void> {
  await sweepRows(
    { postgres, refused },
    {
      claim: claimExpiredUpload,
      remove: (upload) => removeObjects(objectStore, upload),
      note: deleteResumableUpload,
      logRemoved: ({ id }) => logger.info({ upload: id }, "The sweeper removed an upload in chunks."),
      logRefused: ({ id }, error) =>
        logger.error(
          { err: error, upload: id },
          "The sweeper could not remove the chunks of an upload; it will retry.",
        ),
    },
  );
}

/** Returns the 404 for an upload that is unknown, ended, expired or another partner's. */
export function noSuchUpload(id: string): DomainError {
  return notFound(`There is no upload ${id}. It may have expired.`);
}

async function removeObjects(objectStore: ObjectStore, { objectKey, isVersion }: EndedUpload): Promise<void> {
  const objects = new UploadObjects(objectStore);
  await (isVersion ? objects.removeTails(objectKey) : objects.removeAll(objectKey));
}
