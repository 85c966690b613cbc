import { createHash } from "node:crypto";
import { CopyDestinationOptions, CopySourceOptions } from "minio";
import { isSavePicture } from "#archive/savePicture.ts";
import { limits } from "#contracts/limits.ts";
import { savePictureKey } from "#contracts/objectKeys.ts";
import type { Logger } from "#runtime/logger.ts";
import { callObjectStore, isObjectMissing, type ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { insertSavePicture } from "./savePictureQueries.ts";

/** How long recording a save waits for the object store to find its picture. */
const lookMs = 2_000;

/** The pictures of saves in the object store. */
export class SavePictureStore {
  readonly #objectStore: ObjectStore;

  constructor(objectStore: ObjectStore) {
    this.#objectStore = objectStore;
  }

  /** Returns the size of the picture of a save; undefined if there is none of an allowed size. */
  async findSize(objectKey: string): Promise<number | undefined> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const looking = client
      .statObject(bucket, savePictureKey(objectKey))
      .then(({ size }) => size)
      .catch((error: unknown) => {
        if (isObjectMissing(error) || isHeadOfNothing(error)) return 0;
        throw error;
      });
    const size = await callObjectStore(looking, Math.min(timeoutMs, lookMs), "Looking for a picture");
    return size > 0 && size <= limits.save.picture.bytes ? size : undefined;
  }

  /** Returns the picture of a save; undefined if it is missing, or anything but a small JPEG. */
  async read(objectKey: string): Promise<Buffer | undefined> {
    const reading = this.#read(objectKey).catch((error: unknown) => {
      if (isObjectMissing(error)) return undefined;
      throw error;
    });
    return callObjectStore(reading, this.#objectStore.timeoutMs, "Reading a picture");
  }

  /** Copies the picture of a save within the object store. */
  async copy(fromObjectKey: string, toObjectKey: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const source = new CopySourceOptions({ Bucket: bucket, Object: savePictureKey(fromObjectKey) });
    const target = new CopyDestinationOptions({ Bucket: bucket, Object: savePictureKey(toObjectKey) });
    await callObjectStore(client.copyObject(source, target), timeoutMs, "Copying a picture");
  }

  async #read(objectKey: string): Promise<Buffer | undefined> {
    const { client, bucket } = this.#objectStore;
    const stream = await client.getObject(bucket, savePictureKey(objectKey));
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > limits.save.picture.bytes) return undefined;
      chunks.push(chunk);
    }
    const picture = Buffer.concat(chunks);
    return isSavePicture(picture) ? picture : undefined;
  }
}

/** A response to HEAD has no body that could say which error it is; here it costs at most a picture. */
function isHeadOfNothing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "NotFound";
}

/** Returns the id of the picture of a save in addresses. An id always names the same picture. */
export function pictureIdOf(objectKey: string): string {
  return createHash("sha256").update(objectKey).digest("hex").slice(0, 32);
}

/**
 * Records the picture that a node agent has stored with a save, if there is one. Best effort: a save without
 * its picture is as good.
 */
export async function recordSavePicture(
  { postgres, objectStore, logger }: { postgres: Postgres; objectStore: ObjectStore; logger: Logger },
  slotId: string,
  objectKey: string,
): Promise<void> {
  try {
    const bytes = await new SavePictureStore(objectStore).findSize(objectKey);
    if (bytes !== undefined) await insertSavePicture(postgres.pool, { objectKey, slotId, bytes });
  } catch (error) {
    logger.warn({ err: error, slot: slotId, objectKey }, "The picture of a save could not be recorded.");
  }
}
