import type { Client } from "minio";
import type { ObjectStore } from "../stores/objectStore.ts";
import { ArchiveUpload } from "./archiveUpload.ts";

/** The uploaded archives in the object store. */
export class ArchiveStore {
  readonly #client: Client;
  readonly #bucket: string;

  constructor({ client, bucket }: ObjectStore) {
    this.#client = client;
    this.#bucket = bucket;
  }

  /** Opens an upload; nothing is visible under the key until it is completed. */
  async openUpload(key: string): Promise<ArchiveUpload> {
    return ArchiveUpload.open(this.#client, this.#bucket, key);
  }

  /** Removes whatever is under the key: a whole object, the parts of uploads that never ended, or nothing. */
  async remove(key: string): Promise<void> {
    // Finds one unfinished upload at a time; a key has at most one, unless opening it was repeated after a lost answer.
    while (await this.#client.findUploadId(this.#bucket, key) !== undefined) {
      await this.#client.removeIncompleteUpload(this.#bucket, key);
    }
    await this.#client.removeObject(this.#bucket, key);
  }
}
