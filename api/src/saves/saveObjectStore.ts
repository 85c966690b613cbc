import { CopyDestinationOptions, CopySourceOptions } from "minio";
import { withTimeout } from "#runtime/scheduling/deadline.ts";
import { savesPrefix } from "#contracts/objectKeys.ts";
import { ArchiveUpload } from "../archives/archiveUpload.ts";
import { unavailable } from "../errors.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import { callObjectStore } from "../stores/callObjectStore.ts";
import { inspectSave, type InspectedSave } from "./inspectSave.ts";
import type { StoredSaveObject } from "./newestSave.ts";

/** The largest save at 2 MB a second. */
const readTimeoutMs = 600_000;

/** How many timeouts of other requests a copy takes, which moves a whole save. */
const copyTimeouts = 12;

/** The saves of all slots in the object store. Its methods throw unavailable when the object store fails. */
export class SaveObjectStore {
  readonly #objectStore: ObjectStore;

  constructor(objectStore: ObjectStore) {
    this.#objectStore = objectStore;
  }

  /** Returns all saves of a slot. */
  async list(slotId: string): Promise<StoredSaveObject[]> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const listing = client.listObjectsV2(bucket, savesPrefix(slotId), true);
    const items = await callObjectStore(
      listing.toArray() as Promise<{ name: string; lastModified: Date }[]>,
      timeoutMs,
      "Listing saves",
    ).finally(() => listing.destroy());
    return items.map(({ name, lastModified }) => ({ key: name, storedAt: lastModified }));
  }

  /** Reads a save and returns what it is. Throws also when it is larger than `bytesMax`. */
  async inspect(key: string, bytesMax: number): Promise<InspectedSave> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const body = await callObjectStore(client.getObject(bucket, key), timeoutMs, "Opening a save");
    try {
      const read = await withTimeout(inspectSave(body, bytesMax), readTimeoutMs, "Reading a save");
      if (read === undefined) throw new Error(`The save ${key} is larger than ${bytesMax} bytes.`);
      return read;
    } finally {
      body.destroy();
    }
  }

  /**
   * Removes the saves of these keys; missing ones do not matter. Throws unavailable also when the object
   * store keeps some, or has not removed them within `ms`.
   */
  async remove(keys: readonly string[], ms = Infinity): Promise<void> {
    if (keys.length === 0) return;
    const { client, bucket, timeoutMs } = this.#objectStore;
    const results = await callObjectStore(
      client.removeObjects(bucket, [...keys]),
      Math.min(timeoutMs, ms),
      "Removing saves",
    );
    const refused = results.flatMap((result) => result?.Error ?? []);
    if (refused.length === 0) return;
    const cause = new Error(
      `The object store keeps ${refused.length} saves that it was to remove: ${refused[0]?.Code ?? "no reason given"}.`,
    );
    throw unavailable("The archive store keeps what it was to remove: try again in a moment.", cause);
  }

  /** Copies a save within the object store. */
  async copy(fromKey: string, toKey: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const source = new CopySourceOptions({ Bucket: bucket, Object: fromKey });
    await callObjectStore(
      client.copyObject(source, new CopyDestinationOptions({ Bucket: bucket, Object: toKey })),
      copyTimeouts * timeoutMs,
      "Copying a save",
    );
  }

  /** Opens an upload; nothing is visible under the key until it is completed. */
  async openUpload(key: string): Promise<ArchiveUpload> {
    return ArchiveUpload.open(this.#objectStore, key);
  }
}
