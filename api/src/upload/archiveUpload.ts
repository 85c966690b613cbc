import { crc32 } from "node:zlib";
import type { Client } from "minio";
import { unavailable } from "../errors.ts";
import { withTimeout } from "../withTimeout.ts";

/** Small enough for little memory, large enough for archives far above the limit in S3's 10,000 parts. */
export const partBytes = 8 * 2 ** 20;
const partTimeoutMs = 60_000;
const completeTimeoutMs = 120_000;

/**
 * One multipart upload of unknown length in constant memory: bytes are gathered in one buffer while the buffer before it
 * is on its way to the store. Throws unavailable when the store fails.
 */
export class ArchiveUpload {
  readonly #client: Client;
  readonly #bucket: string;
  readonly #key: string;
  readonly #uploadId: string;
  readonly #etags: { part: number; etag: string }[] = [];
  #gathering = Buffer.allocUnsafeSlow(partBytes);
  #spare: Buffer<ArrayBuffer> | undefined = Buffer.allocUnsafeSlow(partBytes);
  #gathered = 0;
  #parts = 0;
  #sending: Promise<Buffer<ArrayBuffer>> | undefined;

  private constructor(client: Client, bucket: string, key: string, uploadId: string) {
    this.#client = client;
    this.#bucket = bucket;
    this.#key = key;
    this.#uploadId = uploadId;
  }

  static async open(client: Client, bucket: string, key: string): Promise<ArchiveUpload> {
    const headers = { "content-type": "application/gzip" };
    const opening = client.initiateNewMultipartUpload(bucket, key, headers);
    return new ArchiveUpload(client, bucket, key, await answered(opening, partTimeoutMs, "Opening an upload"));
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
    const completing = this.#client.completeMultipartUpload(this.#bucket, this.#key, this.#uploadId, this.#etags);
    await answered(completing, completeTimeoutMs, "Completing an upload");
  }

  /** Throws everything away; the sweeper finds what a failure here leaves. */
  async abort(): Promise<void> {
    // The outcome of the part on its way no longer matters, but it must be over, or it would come after the abort.
    await this.#sending?.catch(() => undefined);
    const aborting = this.#client.abortMultipartUpload(this.#bucket, this.#key, this.#uploadId);
    await answered(aborting, partTimeoutMs, "Aborting an upload");
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
    const content = buffer.subarray(0, bytes);
    const sending = this.#client.uploadPart({
      bucketName: this.#bucket,
      objectName: this.#key,
      uploadID: this.#uploadId,
      partNumber: part,
      // The store checks it; MD5 and SHA-256, which S3 began with, cost as much as all the rest of an upload.
      headers: { "content-length": String(bytes), "x-amz-checksum-crc32": crc32Of(content) },
    }, content);
    const { etag } = await answered(sending, partTimeoutMs, "Storing a part of an upload");
    this.#etags.push({ part, etag });
    return buffer;
  }
}

function crc32Of(bytes: Buffer): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum.toString("base64");
}

async function answered<T>(call: Promise<T>, ms: number, what: string): Promise<T> {
  try {
    return await withTimeout(call, ms, what);
  } catch (cause) {
    throw unavailable("The archive store is not available just now: try again in a moment.", cause);
  }
}
