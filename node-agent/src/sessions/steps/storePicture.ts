import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { packedPictureName } from "#contracts/nodeLayout.ts";
import { savePictureKey } from "#contracts/objectKeys.ts";
import type { PackedSave } from "#contracts/spool.ts";
import { withDeadline } from "#runtime/scheduling/deadline.ts";
import { readPicture } from "../../spool/readPicture.ts";
import type { RecordContext } from "./step.ts";

/** Time for one attempt to store at most 64 KiB. A save waits for this at most. */
const storeMs = 5_000;

/**
 * Stores the picture of a pack next to its save, if it has one. Best effort: a failure is logged, and the
 * save is stored without it.
 */
export async function storePicture(
  { deps, record, signal, logger }: RecordContext,
  save: PackedSave,
  objectKey: string,
): Promise<void> {
  const { files, objectStore, bucket, clock } = deps;
  try {
    const picture = await readPicture(`${files.packedFolder(record.gameSession)}/${packedPictureName(save)}`);
    if (picture === undefined) return;
    const upload = {
      sizeBytes: picture.length,
      md5: createHash("md5").update(picture).digest("base64"),
      read: () => Readable.from([picture]),
    };
    const key = savePictureKey(objectKey);
    await withDeadline({ clock, ms: storeMs, what: `Storing ${key}`, signal }, (until) =>
      objectStore.put({ bucket, key }, upload, until),
    );
  } catch (error) {
    signal.throwIfAborted();
    logger.warn(
      { err: error, gameSession: record.gameSession },
      "The picture of a save could not be stored.",
    );
  }
}
