import type { ObjectStore } from "../../stores/objectStore.ts";
import { callObjectStore } from "../../stores/callObjectStore.ts";
import { ArchiveUpload } from "../../archives/archiveUpload.ts";

/** The uploaded archives in the object store. Its methods throw unavailable when the object store fails. */
export class ArchiveObjectStore {
  readonly #objectStore: ObjectStore;

  constructor(objectStore: ObjectStore) {
    this.#objectStore = objectStore;
  }

  /** Opens an upload; nothing is visible under the key until it is completed. */
  async openUpload(key: string): Promise<ArchiveUpload> {
    return ArchiveUpload.open(this.#objectStore, key);
  }

  /** Removes everything under the key: an object, and the parts of uploads that never ended. */
  async remove(key: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const call = <T>(request: Promise<T>): Promise<T> => callObjectStore(request, timeoutMs, "Removing an archive");
    // Finds one unfinished upload at a time; a key has at most one, unless opening it was repeated after a lost response.
    while (await call(client.findUploadId(bucket, key)) !== undefined) await call(client.removeIncompleteUpload(bucket, key));
    await call(client.removeObject(bucket, key));
  }
}
