import { crc32 } from "node:zlib";
import { chunkBytes } from "#archive/gunzip.ts";
import { releaseBytes } from "#runtime/releaseMemory.ts";
import { type ObjectStore, callObjectStore, retryObjectStore } from "../stores/objectStore.ts";
import { completeMultipartUpload, openMultipartUpload, type StoredPart } from "./multipartUpload.ts";

/**
 * The smallest part that S3 accepts, in whole pieces. It needs little memory, and the limit of 10,000 parts
 * is far above the maximum archive size.
 */
export const partBytes = 5 * chunkBytes;
/**
 * One part is filled while the others are sent, because the object store responds some time after it has
 * received a part.
 */
const buffers = 3;
/** Timeout of a part, as a multiple of the timeout of other requests, because it has to be sent. */
const partTimeouts = 6;

/** A part that is being filled. */
interface Part {
  memory: Buffer<ArrayBuffer>;
  bytes: number;
  /** CRC-32, computed per piece while the piece is still in the processor's cache. */
  crc32: number;
}

/** An upload that was interrupted. */
interface InterruptedUpload {
  key: string;
  uploadId: string;
  /** Number of stored parts. */
  parts: number;
  /** The bytes that follow these parts, fewer than a part has. */
  tail: Buffer;
  /** Called for each part that the object store has acknowledged, in any order. */
  onStored: (part: StoredPart) => void;
}

/**
 * A multipart upload of unknown length in constant memory. Pieces are read directly into the buffers of the
 * parts, and a buffer is reused once the object store has its part and ten more pieces have arrived. Until
 * then, a part that fails is sent again.
 *
 * @throws unavailable when the object store fails
 */
export class ArchiveUpload {
  readonly #objectStore: ObjectStore;
  readonly #key: string;
  readonly #uploadId: string;
  readonly #etags: StoredPart[] = [];
  readonly #onStored: (part: StoredPart) => void;
  #filling: Part | undefined;
  #parts: number;
  #bytes = 0;
  /** Parts in flight, oldest first; each resolves with its memory. */
  readonly #sending: Promise<Buffer<ArrayBuffer>>[] = [];
  readonly #aborting = new AbortController();

  private constructor(store: ObjectStore, { key, uploadId, parts, tail, onStored }: InterruptedUpload) {
    this.#objectStore = store;
    this.#key = key;
    this.#uploadId = uploadId;
    this.#parts = parts;
    this.#onStored = onStored;
    if (tail.length === 0) return;
    const memory = Buffer.allocUnsafeSlow(partBytes);
    tail.copy(memory);
    this.#filling = { memory, bytes: tail.length, crc32: crc32(tail) };
  }

  /** Opens an upload; nothing is visible under the key until it is completed. */
  static async open(store: ObjectStore, key: string): Promise<ArchiveUpload> {
    const uploadId = await openMultipartUpload(store, key);
    return ArchiveUpload.resume(store, {
      key,
      uploadId,
      parts: 0,
      tail: Buffer.alloc(0),
      onStored: () => undefined,
    });
  }

  /** Continues an upload. Only one that was not interrupted can be completed here. */
  static resume(store: ObjectStore, interrupted: InterruptedUpload): ArchiveUpload {
    return new ArchiveUpload(store, interrupted);
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
    this.#bytes += piece.length;
    this.#filling.crc32 = crc32(piece, this.#filling.crc32);
    if (this.#filling.bytes === partBytes) this.#startSending(this.#filling);
  }

  /** Sends the rest and makes the object visible. At least one piece is required. */
  async complete(): Promise<void> {
    this.sendTail();
    await this.settle();
    const parts = this.#etags.toSorted((one, other) => one.part - other.part);
    const upload = { key: this.#key, uploadId: this.#uploadId, bytes: this.#bytes };
    await completeMultipartUpload(this.#objectStore, upload, parts);
  }

  /** The bytes after the last whole part, which are not sent. */
  get tail(): Buffer {
    return this.#filling?.memory.subarray(0, this.#filling.bytes) ?? Buffer.alloc(0);
  }

  /** Starts to send the bytes after the last whole part, as the archive's last part. */
  sendTail(): void {
    if (this.#filling !== undefined && this.#filling.bytes > 0) this.#startSending(this.#filling);
  }

  /** Resolves when the object store has all parts. */
  async settle(): Promise<void> {
    const sent = await Promise.all(this.#sending);
    this.#sending.length = 0;
    // Otherwise the garbage collector would keep the buffers until the next upload has allocated as many.
    for (const memory of sent) releaseBytes(memory);
  }

  /** Sends no part again, and waits for those in flight. */
  async close(): Promise<void> {
    this.#aborting.abort();
    await Promise.allSettled(this.#sending);
  }

  /** Discards everything. If that fails, the sweeper removes the remains. */
  async abort(): Promise<void> {
    // The results of parts in flight no longer matter, but they must have arrived; otherwise they could
    // arrive after the abort.
    await this.close();
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
    let attempts = 0;
    const send = (): Promise<{ etag: string }> => {
      attempts += 1;
      return client.uploadPart(
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
    };
    const what = "Storing a part of an upload";
    const options = { ms: partTimeouts * timeoutMs, what, signal: this.#aborting.signal };
    const { etag } = await retryObjectStore(options, send);
    this.#etags.push({ part: partNumber, etag });
    this.#onStored({ part: partNumber, etag });
    // The connection of a failed attempt may still read the memory, so it is left to the garbage collector.
    return attempts === 1 ? memory : Buffer.allocUnsafeSlow(partBytes);
  }
}

function inBase64(sum: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum);
  return bytes.toString("base64");
}
