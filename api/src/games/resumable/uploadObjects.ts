import { Readable } from "node:stream";
import { archiveTailKey, archiveTailPrefix } from "#contracts/objectKeys.ts";
import { chunkBytes } from "#archive/gunzip.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { partBytes } from "../../archives/archiveUpload.ts";
import { unavailable } from "../../errors.ts";
import { callObjectStore, retryObjectStore, type ObjectStore } from "../../stores/objectStore.ts";
import { ArchiveObjectStore } from "../upload/archiveObjectStore.ts";

/** Timeout of a tail, as a multiple of the timeout of other requests, because it has to be sent. */
const tailTimeouts = 6;

/**
 * The objects of uploads in chunks: tails, which are the bytes after the last whole part of an unfinished
 * upload, and complete archives that are not inspected yet. Its methods throw unavailable when the object
 * store fails.
 */
export class UploadObjects {
  readonly #objectStore: ObjectStore;

  constructor(objectStore: ObjectStore) {
    this.#objectStore = objectStore;
  }

  /** Stores the tail that ends at this offset of the archive, and returns its key. */
  async putTail(archive: string, offset: number, tail: Buffer): Promise<string> {
    const { client, bucket } = this.#objectStore;
    const key = archiveTailKey(archive, offset);
    await this.#retried("Storing the end of a chunk", () => client.putObject(bucket, key, tail, tail.length));
    return key;
  }

  /** Returns a tail, which has this number of bytes. */
  async readTail(key: string, bytes: number): Promise<Buffer> {
    const { client, bucket } = this.#objectStore;
    return this.#retried("Reading the end of a chunk", async () => {
      const body = await client.getObject(bucket, key);
      const tail = await readAll(body, partBytes);
      if (tail.length !== bytes) throw new Error(`The object ${key} has ${tail.length} bytes, not ${bytes}.`);
      return tail;
    });
  }

  async removeTail(key: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    await callObjectStore(client.removeObject(bucket, key), timeoutMs, "Removing the end of a chunk");
  }

  /** Removes every tail of an archive. */
  async removeTails(archive: string): Promise<void> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const listing = client.listObjectsV2(bucket, archiveTailPrefix(archive), true);
    const items = await callObjectStore(
      listing.toArray() as Promise<{ name: string }[]>,
      timeoutMs,
      "Listing the ends of chunks",
    ).finally(() => listing.destroy());
    for (const { name } of items) await this.removeTail(name);
  }

  /** Removes an archive, the parts of its unfinished upload and its tails. */
  async removeAll(archive: string): Promise<void> {
    await new ArchiveObjectStore(this.#objectStore).remove(archive);
    await this.removeTails(archive);
  }

  /**
   * Opens a complete archive for reading. After a lost connection, reading continues where it stopped. The
   * stream fails with unavailable when that does not help.
   */
  readArchive(key: string, bytes: number): Readable {
    return Readable.from(this.#bytesOf(key, bytes), { objectMode: false, highWaterMark: chunkBytes });
  }

  async *#bytesOf(key: string, bytes: number): AsyncGenerator<Buffer> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    let offset = 0;
    for (let failures = 0; offset < bytes;) {
      const before = offset;
      try {
        const opening = client.getPartialObject(bucket, key, offset);
        const body = await callObjectStore(opening, timeoutMs, "Opening an uploaded archive");
        for await (const piece of body as AsyncIterable<Buffer>) {
          offset += piece.length;
          yield piece;
        }
        if (offset < bytes) throw new Error(`The object ${key} ended after ${offset} of ${bytes} bytes.`);
      } catch (cause) {
        failures = offset > before ? 1 : failures + 1;
        if (failures === readFailuresMax)
          throw unavailable("The archive store is temporarily unavailable. Try again in a moment.", cause);
        await systemClock.sleep(backOffMs(readBackOff, failures, Math.random));
      }
    }
  }

  #retried<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const ms = tailTimeouts * this.#objectStore.timeoutMs;
    return retryObjectStore({ ms, what, signal: new AbortController().signal }, attempt);
  }
}

/** Failures without a byte between them that end the reading of an archive. */
const readFailuresMax = 6;
const readBackOff = { baseMs: 250, maxMs: 4_000 };

async function readAll(body: Readable, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new Error(`The object has more than ${bytesMax} bytes.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
