import { pictureKey } from "#contracts/objectKeys.ts";
import type { Logger } from "#runtime/logger.ts";
import { repeatUpTo } from "#runtime/repeatUpTo.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { deletedGameKeptDays } from "../partnerGameQueries.ts";
import { PictureObjectStore } from "./pictureObjectStore.ts";
import { deletePicture, lockUnusedPicture } from "./pictureQueries.ts";

/** What sweeping pictures needs. */
export interface SweepPicturesDeps {
  logger: Logger;
  postgres: Postgres;
  objectStore: ObjectStore;
}

/** Longer than it takes to store a picture, and than a page that shows the former picture goes on loading. */
const graceSeconds = 600;
const rowsPerPassMax = 50;

/** Removes pictures that were replaced or never became current, and those of games that can no longer be restored. */
export async function sweepPictures({ postgres, objectStore, logger }: SweepPicturesDeps): Promise<void> {
  const pictures = new PictureObjectStore(objectStore);
  await repeatUpTo(rowsPerPassMax, async () => {
    const swept = await postgres.transaction(async (transaction) => {
      const picture = await lockUnusedPicture(transaction, graceSeconds, deletedGameKeptDays);
      if (picture === undefined) return undefined;
      await pictures.remove(pictureKey(picture.gameId, picture.id));
      await deletePicture(transaction, picture);
      return picture;
    });
    if (swept === undefined) return false;
    logger.info({ picture: swept.id }, "The sweeper removed a picture that no game shows.");
    return true;
  });
}
