import { createHash, type Hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { saveReasons } from "#contracts/crd/reasons.ts";
import { limits } from "#contracts/limits.ts";
import { Refusal } from "../errors.ts";
import { tarSave, type SaveTar, type TarContent } from "./tarSave.ts";

/** An archive as it was written. */
export interface Archive extends TarContent {
  sha256: string;
  bytes: number;
  /** SHA-256 of the tar in it. */
  tarSha256: string;
}

export interface WriteArchiveOptions {
  saveDirectory: string;
  target: FileHandle;
  /** What the saves take in memory: decides how hard they are compressed. */
  saveBytes: number;
  signal: AbortSignal;
}

/** What is small is packed well, what is large is packed in time. */
const wellPackedBytes = 4 * 2 ** 20;

/** Packs a save directory as tar.gz into an empty file. Throws Refusal, or the signal's reason. */
export async function writeArchive({ saveDirectory, target, saveBytes, signal }: WriteArchiveOptions): Promise<Archive> {
  const tarHash = createHash("sha256");
  const hash = createHash("sha256");
  let bytes = 0;
  const gzip = createGzip({ level: saveBytes <= wellPackedBytes ? 6 : 1, chunkSize: 256 * 1024 });
  const content = await consume(tarSave(saveDirectory), (stream) => pipeline(stream, passThrough(tarHash), gzip, async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) {
      hash.update(piece);
      bytes += piece.length;
      if (bytes > limits.save.packedBytes) throw new Refusal(saveReasons.saveTooLarge, `The save directory packs to more than ${limits.save.packedBytes} bytes, which is more than a save may have.`);
      for (let rest = piece; rest.length > 0;) rest = rest.subarray((await target.write(rest)).bytesWritten);
    }
  }, { signal }));
  return { ...content, bytes, sha256: hash.digest("hex"), tarSha256: tarHash.digest("hex") };
}

/** Returns the SHA-256 of the tar that a save directory would make now: a tenth of the work of packing it. Throws Refusal. */
export async function digestSave(saveDirectory: string): Promise<string> {
  const hash = createHash("sha256");
  await consume(tarSave(saveDirectory), (stream) => pipeline(stream, async (pieces: AsyncIterable<Uint8Array>) => {
    for await (const piece of pieces) hash.update(piece);
  }));
  return hash.digest("hex");
}

/** A directory that breaks a limit is the cause; the broken stream after it is not. */
async function consume({ stream, content }: SaveTar, work: (stream: Readable) => Promise<unknown>): Promise<TarContent> {
  const [made, used] = await Promise.allSettled([content, work(stream)]);
  if (made.status === "rejected" && made.reason instanceof Refusal) throw made.reason;
  if (used.status === "rejected") throw used.reason;
  if (made.status === "rejected") throw made.reason;
  return made.value;
}

function passThrough(hash: Hash): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece);
      done(null, piece);
    },
  });
}
