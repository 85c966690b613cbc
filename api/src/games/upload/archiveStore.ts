import type { ObjectStore } from "../../stores/objectStore.ts";
import { storeAnswer } from "../../stores/storeAnswer.ts";
import { ArchiveUpload } from "./archiveUpload.ts";

/** The uploaded archives in the object store. Throws unavailable when that fails. */
export class ArchiveStore {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Opens an upload; nothing is visible under the key until it is completed. */
  async openUpload(key: string): Promise<ArchiveUpload> {
    return ArchiveUpload.open(this.#store, key);
  }

  /** Removes whatever is under the key: a whole object, the parts of uploads that never ended, or nothing. */
  async remove(key: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#store;
    const answer = <T>(call: Promise<T>): Promise<T> => storeAnswer(call, timeoutMs, "Removing an archive");
    // Finds one unfinished upload at a time; a key has at most one, unless opening it was repeated after a lost answer.
    while (await answer(client.findUploadId(bucket, key)) !== undefined) await answer(client.removeIncompleteUpload(bucket, key));
    await answer(client.removeObject(bucket, key));
  }
}
