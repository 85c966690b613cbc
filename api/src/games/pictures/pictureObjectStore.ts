import { callObjectStore } from "../../stores/callObjectStore.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";

/** How many timeouts of other requests a picture's bytes take at most. */
const transferTimeouts = 6;

/** The games' pictures in the object store. Its methods throw unavailable when the object store fails. */
export class PictureObjectStore {
  readonly #objectStore: ObjectStore;

  constructor(objectStore: ObjectStore) {
    this.#objectStore = objectStore;
  }

  /** Stores a picture. */
  async store(key: string, bytes: Buffer, type: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    await callObjectStore(
      client.putObject(bucket, key, bytes, bytes.length, { "Content-Type": type }),
      transferTimeouts * timeoutMs,
      "Storing a picture",
    );
  }

  /** Returns a picture of that many bytes. */
  async read(key: string, sizeBytes: number): Promise<Buffer> {
    const { timeoutMs } = this.#objectStore;
    return callObjectStore(this.#read(key, sizeBytes), transferTimeouts * timeoutMs, "Reading a picture");
  }

  /** Removes a picture; that it is not there does not matter. */
  async remove(key: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    await callObjectStore(client.removeObject(bucket, key), timeoutMs, "Removing a picture");
  }

  async #read(key: string, sizeBytes: number): Promise<Buffer> {
    const { client, bucket } = this.#objectStore;
    const stream = await client.getObject(bucket, key);
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > sizeBytes) break;
      chunks.push(chunk);
    }
    if (length !== sizeBytes)
      throw new Error(`The picture ${key} is not the ${sizeBytes} bytes that were stored.`);
    return Buffer.concat(chunks);
  }
}
