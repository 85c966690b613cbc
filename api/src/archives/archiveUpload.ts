import { crc32 } from "node:zlib";
import { chunkBytes } from "#archive/gunzip.ts";
import { type ObjectStore, callObjectStore } from "../stores/objectStore.ts";
import { releaseBytes } from "#runtime/releaseMemory.ts";

/**
 * The smallest part that S3 accepts, in whole pieces. It needs little memory, and the limit of 10,000 parts
 * is far above the maximum archive size.
 */
const partBytes = 5 * chunkBytes;
/**
 * One part is filled while the others are sent, because the object store responds some time after it has
 * received a part.
 */
const buffers = 3;
/**
 * Timeouts as multiples of the timeout of other requests: a part has to be sent, and thousands of parts have
 * to be assembled.
 */
const timeouts = { part: 6, complete: 12 };

/** A part that is being filled. */
interface Part {
  memory: Buffer<ArrayBuffer>;
  bytes: number;
  /** CRC-32, computed per piece while the piece is still in the processor's cache. */
  crc32: number;
}

/**
 * A multipart upload of unknown length in constant memory. Pieces are read directly into the buffers of the
 * parts, and a buffer is reused once the object store has its part and ten more pieces have arrived.
 *
 * @throws unavailable when the object store fails
 */
export class ArchiveUpload {
  readonly #objectStore: ObjectStore;
  readonly #key: string;
  readonly #uploadId: string;
  readonly #etags: { part: number; etag: string }[] = [];
  #filling: Part | undefined;
  #parts = 0;
  /** Parts in flight, oldest first; each resolves with its memory. */
  readonly #sending: Promise<Buffer<ArrayBuffer>>[] = [];

  private constructor(store: ObjectStore, key: string, uploadId: string) {
    this.#objectStore = store;
    this.#key = key;
    this.#uploadId = uploadId;
  }

  /** Opens an upload; nothing is visible under the key until it is completed. */
  static async open(store: ObjectStore, key: string): Promise<ArchiveUpload> {
    const opening = store.client.initiateNewMultipartUpload(store.bucket, key, {
      "content-type": "application/gzip",
    });
    return new ArchiveUpload(
      store,
      key,
      await callObjectStore(opening, store.timeoutMs, "Opening an upload"),
    );
  }

  /** Returns memory for the next piece; waits while all parts are being sent. */
  async nextPiece(): Promise<Buffer> {
    this.#filling ??= { memory: await this.#nextMemory(), bytes: 0, crc32: 0 };
    const { memory, bytes } = this.#filling;
    return memory.subarray(bytes, bytes + chunkBytes);
  }

  /**
   * Adds the piece in the memory that was returned last. Only the archive's last piece may be shorter than
   * that memory.
   */
  add(piece: Buffer): void {
    if (this.#filling === undefined) throw new Error("The piece is not in a part's memory.");
    this.#filling.bytes += piece.length;
    this.#filling.crc32 = crc32(piece, this.#filling.crc32);
    if (this.#filling.bytes === partBytes) this.#startSending(this.#filling);
  }

  /** Sends the rest and makes the object visible. At least one piece is required. */
  async complete(): Promise<void> {
    if (this.#filling !== undefined && this.#filling.bytes > 0) this.#startSending(this.#filling);
    // Otherwise the garbage collector would keep the buffers until the next upload has allocated as many.
    for (const part of await Promise.all(this.#sending)) releaseBytes(part);
    const { client, bucket, timeoutMs } = this.#objectStore;
    const completing = client.completeMultipartUpload(
      bucket,
      this.#key,
      this.#uploadId,
      this.#etags.toSorted((one, other) => one.part - other.part),
    );
    await callObjectStore(completing, timeouts.complete * timeoutMs, "Completing an upload");
  }

  /** Discards everything. If that fails, the sweeper removes the remains. */
  async abort(): Promise<void> {
    // The results of parts in flight no longer matter, but they must have arrived; otherwise they could
    // arrive after the abort.
    await Promise.allSettled(this.#sending);
    const { client, bucket, timeoutMs } = this.#objectStore;
    await callObjectStore(
      client.abortMultipartUpload(bucket, this.#key, this.#uploadId),
      timeoutMs,
      "Aborting an upload",
    );
  }

  #startSending(part: Part): void {
    this.#parts += 1;
    const sending = this.#send(this.#parts, part);
    sending.catch(() => undefined); // The failure surfaces when its memory is needed, or at the end.
    this.#sending.push(sending);
    this.#filling = undefined;
  }

  async #nextMemory(): Promise<Buffer<ArrayBuffer>> {
    const oldest = this.#sending.length < buffers ? undefined : this.#sending.shift();
    return oldest ?? Buffer.allocUnsafeSlow(partBytes);
  }

  async #send(partNumber: number, { memory, bytes, crc32 }: Part): Promise<Buffer<ArrayBuffer>> {
    const { client, bucket, timeoutMs } = this.#objectStore;
    const sending = client.uploadPart(
      {
        bucketName: bucket,
        objectName: this.#key,
        uploadID: this.#uploadId,
        partNumber,
        // The object store verifies CRC-32. MD5 or SHA-256 would cost as much as the rest of the upload.
        headers: { "content-length": String(bytes), "x-amz-checksum-crc32": inBase64(crc32) },
      },
      memory.subarray(0, bytes),
    );
    const { etag } = await callObjectStore(sending, timeouts.part * timeoutMs, "Storing a part of an upload");
    this.#etags.push({ part: partNumber, etag });
    return memory;
  }
}

function inBase64(sum: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum);
  return bytes.toString("base64");
}
