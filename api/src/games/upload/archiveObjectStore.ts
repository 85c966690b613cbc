import { type ObjectStore, callObjectStore } from "../../stores/objectStore.ts";
import { ArchiveUpload } from "../../archives/archiveUpload.ts";

/** Tolerated clock difference between database and object store. */
const clockToleranceMs = 300_000;

/** A stored archive. */
export interface StoredArchive {
  objectKey: string;
  sizeBytes: number;
  createdAt: Date;
}

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

  /**
   * Returns whether the version's object still has the stored size and date, without reading it. It may have
   * been lost or overwritten.
   */
  async isAsStored({ objectKey, sizeBytes, createdAt }: StoredArchive): Promise<boolean> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const request = client.statObject(bucket, objectKey).catch((error: unknown) => {
      if (error instanceof Error && "code" in error && error.code === "NotFound") return undefined;
      throw error;
    });
    const found = await callObjectStore(request, timeoutMs, "Looking for an archive");
    return (
      found?.size === sizeBytes && found.lastModified.getTime() <= createdAt.getTime() + clockToleranceMs
    );
  }

  /** Removes everything under the key: an object, and the parts of unfinished uploads. */
  async remove(key: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const call = <T>(request: Promise<T>): Promise<T> =>
      callObjectStore(request, timeoutMs, "Removing an archive");
    // Finds one unfinished upload at a time; a key has at most one, unless opening it was repeated after a
    // lost response.
    while ((await call(client.findUploadId(bucket, key))) !== undefined)
      await call(client.removeIncompleteUpload(bucket, key));
    await call(client.removeObject(bucket, key));
  }
}
