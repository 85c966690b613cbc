import { crc32 } from "node:zlib";
import type { ObjectStore } from "../stores/objectStore.ts";
import { storeAnswer } from "./storeAnswer.ts";

/** Small enough for little memory, large enough for archives far above the limit in S3's 10,000 parts. */
export const partBytes = 8 * 2 ** 20;
/** Longer than the store's other answers: for a part to travel, and for thousands of parts to be put together. */
const patience = { part: 6, complete: 12 };

/**
 * One multipart upload of unknown length in constant memory: bytes are gathered in one buffer while the buffer before it
 * is on its way to the store. Throws unavailable when the store fails.
 */
export class ArchiveUpload {
  readonly #store: ObjectStore;
  readonly #key: string;
  readonly #uploadId: string;
  readonly #etags: { part: number; etag: string }[] = [];
  #gathering = Buffer.allocUnsafeSlow(partBytes);
  #spare: Buffer<ArrayBuffer> | undefined = Buffer.allocUnsafeSlow(partBytes);
  #gathered = 0;
  #parts = 0;
  #sending: Promise<Buffer<ArrayBuffer>> | undefined;

  private constructor(store: ObjectStore, key: string, uploadId: string) {
    this.#store = store;
    this.#key = key;
    this.#uploadId = uploadId;
  }

  static async open(store: ObjectStore, key: string): Promise<ArchiveUpload> {
    const opening = store.client.initiateNewMultipartUpload(store.bucket, key, { "content-type": "application/gzip" });
    return new ArchiveUpload(store, key, await storeAnswer(opening, store.timeoutMs, "Opening an upload"));
  }

  /** Takes bytes; waits only while a whole buffer is full and the one before it is still on its way. */
  async write(bytes: Buffer): Promise<void> {
    let rest = bytes;
    while (rest.length > 0) {
      const taken = rest.copy(this.#gathering, this.#gathered);
      this.#gathered += taken;
      rest = rest.subarray(taken);
      if (this.#gathered === partBytes) await this.#sendGathered();
    }
  }

  /** Sends what is left and makes the object visible. */
  async complete(): Promise<void> {
    if (this.#gathered > 0 || this.#parts === 0) await this.#sendGathered();
    await this.#sending;
    const { client, bucket, timeoutMs } = this.#store;
    const completing = client.completeMultipartUpload(bucket, this.#key, this.#uploadId, this.#etags);
    await storeAnswer(completing, patience.complete * timeoutMs, "Completing an upload");
  }

  /** Throws everything away; the sweeper finds what a failure here leaves. */
  async abort(): Promise<void> {
    // The outcome of the part on its way no longer matters, but it must be over, or it would come after the abort.
    await this.#sending?.catch(() => undefined);
    const { client, bucket, timeoutMs } = this.#store;
    await storeAnswer(client.abortMultipartUpload(bucket, this.#key, this.#uploadId), timeoutMs, "Aborting an upload");
  }

  async #sendGathered(): Promise<void> {
    const next = await this.#nextBuffer();
    const [full, bytes] = [this.#gathering, this.#gathered];
    this.#gathering = next;
    this.#gathered = 0;
    this.#parts += 1;
    this.#sending = this.#send(this.#parts, full, bytes);
    // Its failure surfaces at the next await of it; until then it is not unhandled.
    this.#sending.catch(() => undefined);
  }

  async #nextBuffer(): Promise<Buffer<ArrayBuffer>> {
    if (this.#sending !== undefined) return this.#sending;
    const spare = this.#spare ?? Buffer.allocUnsafeSlow(partBytes);
    this.#spare = undefined;
    return spare;
  }

  async #send(part: number, buffer: Buffer<ArrayBuffer>, bytes: number): Promise<Buffer<ArrayBuffer>> {
    const { client, bucket, timeoutMs } = this.#store;
    const content = buffer.subarray(0, bytes);
    const sending = client.uploadPart({
      bucketName: bucket,
      objectName: this.#key,
      uploadID: this.#uploadId,
      partNumber: part,
      // The store checks it; MD5 and SHA-256, which S3 began with, cost as much as all the rest of an upload.
      headers: { "content-length": String(bytes), "x-amz-checksum-crc32": crc32Of(content) },
    }, content);
    const { etag } = await storeAnswer(sending, patience.part * timeoutMs, "Storing a part of an upload");
    this.#etags.push({ part, etag });
    return buffer;
  }
}

function crc32Of(bytes: Buffer): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum.toString("base64");
}
