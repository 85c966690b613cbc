import { savesPrefix } from "#contracts/objectKeys.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import { storeAnswer } from "../stores/storeAnswer.ts";
import type { StoredSaveObject } from "./supersededSaves.ts";

/** The slots' saves in the object store. Throws unavailable when that fails. */
export class SaveStore {
  readonly #store: ObjectStore;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** All saves of a slot. */
  async list(slotId: string): Promise<StoredSaveObject[]> {
    const { client, bucket, timeoutMs } = this.#store;
    const listing = client.listObjectsV2(bucket, savesPrefix(slotId), true);
    const items = await storeAnswer(listing.toArray() as Promise<{ name: string; lastModified: Date }[]>, timeoutMs, "Listing saves").finally(() => listing.destroy());
    return items.map(({ name, lastModified }) => ({ key: name, storedAt: lastModified }));
  }

  /** Removes these, as far as they are there. */
  async remove(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const { client, bucket, timeoutMs } = this.#store;
    const results = await storeAnswer(client.removeObjects(bucket, [...keys]), timeoutMs, "Removing saves");
    const refused = results.flatMap((result) => result?.Error ?? []);
    if (refused.length > 0) throw new Error(`The object store keeps ${refused.length} saves that it was to remove: ${refused[0]?.Code ?? "no reason given"}.`);
  }
}
