import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { RefusedRows, sweepRows } from "../stores/sweepRows.ts";
import { claimUnusedVersion, updateVersionRemoved } from "./gameVersionQueries.ts";
import { deletedGameKeptDays } from "./partnerGameQueries.ts";
import { ArchiveObjectStore } from "./upload/archiveObjectStore.ts";

/** What sweeping versions needs. */
export interface SweepVersionsDeps {
  config: { partner: { versionsKept: number } };
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/** A launch that read the version just before it was superseded has committed after this time. */
const graceSeconds = 60;

/**
 * Removes archives that are neither current, played nor among the newest of their game, except the current
 * ones of deleted games that can be restored.
 */
export async function sweepVersions(
  { postgres, objectStore, logger, clock, config }: SweepVersionsDeps,
  refused = new RefusedRows(clock),
): Promise<void> {
  const archives = new ArchiveObjectStore(objectStore);
  await sweepRows(
    { postgres, refused },
    {
      claim: (db, except) =>
        claimUnusedVersion(db, {
          graceSeconds,
          versionsKept: config.partner.versionsKept,
          deletedDays: deletedGameKeptDays,
          except,
        }),
      remove: ({ objectKey }) => archives.remove(objectKey),
      note: updateVersionRemoved,
      logRemoved: ({ id }) => logger.info({ version: id }, "The sweeper removed a superseded archive."),
      logRefused: ({ id }, error) =>
        logger.error(
          { err: error, version: id },
          "The sweeper could not remove a superseded archive; it will retry.",
        ),
    },
  );
}
