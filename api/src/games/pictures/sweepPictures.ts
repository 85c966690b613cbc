import { pictureKey } from "#contracts/objectKeys.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { RefusedRows } from "../../stores/refusedRows.ts";
import { sweepRows } from "../../stores/sweepRows.ts";
import { deletedGameKeptDays } from "../partnerGameQueries.ts";
import { PictureObjectStore } from "./pictureObjectStore.ts";
import {
  deletePicture,
  findUnusedPicture,
  pictureGraceSeconds,
  type StoredPicture,
} from "./pictureQueries.ts";

/** What sweeping pictures needs. */
export interface SweepPicturesDeps {
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/**
 * Removes pictures that were replaced or never became current, and those of games that can no longer be
 * restored.
 */
export async function sweepPictures(
  { postgres, objectStore, logger, clock }: SweepPicturesDeps,
  refused = new RefusedRows(clock),
): Promise<void> {
  const pictures = new PictureObjectStore(objectStore);
  await sweepRows<StoredPicture>(
    { postgres, refused },
    {
      claim: (db, except) =>
        findUnusedPicture(db, {
          graceSeconds: pictureGraceSeconds,
          deletedDays: deletedGameKeptDays,
          except,
        }),
      remove: ({ gameId, id }) => pictures.remove(pictureKey(gameId, id)),
      note: deletePicture,
      logRemoved: ({ id }) =>
        logger.info({ picture: id }, "The sweeper removed a picture that no game shows."),
      logRefused: ({ id }, error) =>
        logger.error(
          { err: error, picture: id },
          "The sweeper could not remove a picture that no game shows; it tries again.",
        ),
    },
  );
}
