import { crc32 } from "node:zlib";
import { chunkBytes } from "#archive/gunzip.ts";
import type { ObjectStore } from "../../stores/objectStore.ts";
import { storeAnswer } from "../../stores/storeAnswer.ts";
import { releaseBytes } from "#runtime/releaseMemory.ts";

/** The least that S3 takes, in whole pieces: little memory, and 10,000 of them are far more than an archive may have. */
const partBytes = 5 * chunkBytes;
/** One gathers pieces while the others are on their way: the store answers some time after it has read a part. */
const buffers = 3;
/** Longer than the store's other answers: for a part to travel, and for thousands of parts to be put together. */
const patience = { part: 6, complete: 12 };

/** The part that pieces come to lie in. */
interface Part {
  memory: Buffer<ArrayBuffer>;
  bytes: number;
  /** CRC-32, added up piece by piece: what was just read is still in the processor's cache, a whole part is not. */
  crc32: number;
}

/**
 * One multipart upload of unknown length in constant memory: pieces come to lie in the parts that are sent, and a part's
 * memory is used again once the store has it and ten pieces more have come. Throws unavailable when the store fails.
 */
export class ArchiveUpload {
  readonly #store: ObjectStore;
  readonly #key: string;
  readonly #uploadId: string;
  readonly #etags: { part: number; etag: string }[] = [];
  #gathering: Part | undefined;
  #parts = 0;
  /** Parts on their way, oldest first; each gives its buffer back. */
  readonly #sending: Promise<Buffer<ArrayBuffer>>[] = [];

  private constructor(store: ObjectStore, key: string, uploadId: string) {
    this.#store = store;
    this.#key = key;
    this.#uploadId = uploadId;
  }

  static async open(store: ObjectStore, key: string): Promise<ArchiveUpload> {
    const opening = store.client.initiateNewMultipartUpload(store.bucket, key, { "content-type": "application/gzip" });
    return new ArchiveUpload(store, key, await storeAnswer(opening, store.timeoutMs, "Opening an upload"));
  }

  /** Memory for the piece that follows; waits while all parts are on their way. */
  async nextPiece(): Promise<Buffer> {
    this.#gathering ??= { memory: await this.#nextMemory(), bytes: 0, crc32: 0 };
    const { memory, bytes } = this.#gathering;
    return memory.subarray(bytes, bytes + chunkBytes);
  }

  /** Takes the piece whose memory was asked for last; only the archive's last may be shorter than that. */
  add(piece: Buffer): void {
    if (this.#gathering === undefined) throw new Error("The piece is not in a part's memory.");
    this.#gathering.bytes += piece.length;
    this.#gathering.crc32 = crc32(piece, this.#gathering.crc32);
    if (this.#gathering.bytes === partBytes) this.#sendOff(this.#gathering);
  }

  /** Sends what is left and makes the object visible; there must have been a piece. */
  async complete(): Promise<void> {
    if (this.#gathering !== undefined && this.#gathering.bytes > 0) this.#sendOff(this.#gathering);
    // The collector would let them lie until the next upload has as many of its own.
    for (const part of await Promise.all(this.#sending)) releaseBytes(part);
    const { client, bucket, timeoutMs } = this.#store;
    const completing = client.completeMultipartUpload(bucket, this.#key, this.#uploadId, this.#etags.toSorted((one, other) => one.part - other.part));
    await storeAnswer(completing, patience.complete * timeoutMs, "Completing an upload");
  }

  /** Throws everything away; the sweeper finds what a failure here leaves. */
  async abort(): Promise<void> {
    // The outcome of the parts on their way no longer matters, but they must be over, or they would come after the abort.
    await Promise.allSettled(this.#sending);
    const { client, bucket, timeoutMs } = this.#store;
    await storeAnswer(client.abortMultipartUpload(bucket, this.#key, this.#uploadId), timeoutMs, "Aborting an upload");
  }

  #sendOff(part: Part): void {
    this.#parts += 1;
    const sending = this.#send(this.#parts, part);
    sending.catch(() => undefined); // Its failure surfaces when its memory is needed, or at the end.
    this.#sending.push(sending);
    this.#gathering = undefined;
  }

  async #nextMemory(): Promise<Buffer<ArrayBuffer>> {
    const oldest = this.#sending.length < buffers ? undefined : this.#sending.shift();
    return oldest ?? Buffer.allocUnsafeSlow(partBytes);
  }

  async #send(partNumber: number, { memory, bytes, crc32 }: Part): Promise<Buffer<ArrayBuffer>> {
    const { client, bucket, timeoutMs } = this.#store;
    const sending = client.uploadPart({
      bucketName: bucket,
      objectName: this.#key,
      uploadID: this.#uploadId,
      partNumber,
      // The store checks it; MD5 and SHA-256, which S3 began with, cost as much as all the rest of an upload.
      headers: { "content-length": String(bytes), "x-amz-checksum-crc32": inBase64(crc32) },
    }, memory.subarray(0, bytes));
    const { etag } = await storeAnswer(sending, patience.part * timeoutMs, "Storing a part of an upload");
    this.#etags.push({ part: partNumber, etag });
    return memory;
  }
}

function inBase64(sum: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(sum);
  return bytes.toString("base64");
}
