import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { limits } from "#contracts/limits.ts";
import { SaveError } from "../errors.ts";
import { tarSave, type SaveTar, type TarContent } from "./tarSave.ts";
import { rmSync } from "node:fs";
import { systemErrorCode } from "#runtime/errors.ts";
import { createNew } from "../spool/spoolFiles.ts";

/** A finished archive. */
export interface Archive extends TarContent {
  sha256: string;
  bytes: number;
  /** SHA-256 of the uncompressed tar. */
  tarSha256: string;
}

interface WriteArchiveOptions {
  saveDirectory: string;
  target: FileHandle;
  /** Size of the saves in memory, which decides the compression level. */
  saveBytes: number;
  signal: AbortSignal;
}

/** Saves up to this size are compressed well, larger ones fast. */
const smallSaveBytes = 4 * 2 ** 20;

/**
 * Writes a save directory as tar.gz to an empty file.
 *
 * @throws SaveError, or the signal's reason.
 */
async function writeArchive({
  saveDirectory,
  target,
  saveBytes,
  signal,
}: WriteArchiveOptions): Promise<Archive> {
  const tarHash = createHash("sha256");
  const hash = createHash("sha256");
  let bytes = 0;
  const gzip = createGzip({ level: saveBytes <= smallSaveBytes ? 6 : 1, chunkSize: 256 * 1024 });
  const content = await readTar(tarSave(saveDirectory), (stream) =>
    pipeline(
      stream,
      hashThrough(tarHash),
      gzip,
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) {
          hash.update(chunk);
          bytes += chunk.length;
          if (bytes > limits.save.packedBytes)
            throw new SaveError(
              saveReasons.saveTooLarge,
              `The save directory is too large: it packs to more than ${limits.save.packedBytes} bytes.`,
            );
          for (let rest = chunk; rest.length > 0;)
            rest = rest.subarray((await target.write(rest)).bytesWritten);
        }
      },
      { signal },
    ),
  );
  return { ...content, bytes, sha256: hash.digest("hex"), tarSha256: tarHash.digest("hex") };
}

/**
 * Returns the SHA-256 of the tar that packing the directory would produce, at a tenth of the cost of packing.
 *
 * @throws SaveError
 */
export async function digestSave(saveDirectory: string): Promise<string> {
  const hash = createHash("sha256");
  await readTar(tarSave(saveDirectory), (stream) =>
    pipeline(stream, async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) hash.update(chunk);
    }),
  );
  return hash.digest("hex");
}

/**
 * Runs `work` on the tar's stream and returns the tar's content. When the directory exceeds a limit, throws
 * that SaveError, not the stream error that follows from it.
 */
async function readTar(
  { stream, content }: SaveTar,
  work: (stream: Readable) => Promise<unknown>,
): Promise<TarContent> {
  const [made, used] = await Promise.allSettled([content, work(stream)]);
  if (made.status === "rejected" && made.reason instanceof SaveError) throw made.reason;
  if (used.status === "rejected") throw used.reason;
  if (made.status === "rejected") throw made.reason;
  return made.value;
}

function hashThrough(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

const transientReasons: ReadonlySet<string> = new Set([
  saveReasons.spoolFull,
  saveReasons.spoolFailed,
  saveReasons.saveUnreadable,
]);

/**
 * Packs a save directory into a new file, which is on disk when this resolves and removed when it throws.
 *
 * @throws SaveError, or the signal's reason.
 */
export async function writePack(
  path: string,
  options: Omit<WriteArchiveOptions, "target">,
): Promise<Archive> {
  try {
    rmSync(path, { force: true });
    const target = await open(path, createNew, 0o600);
    try {
      const archive = await writeArchive({ ...options, target });
      await target.sync();
      return archive;
    } finally {
      await target.close();
    }
  } catch (error) {
    rmSync(path, { force: true });
    throw toSaveError(error);
  }
}

/** Returns a SaveError for an error of the node's disk. Returns any other error unchanged. */
export function toSaveError(error: unknown): unknown {
  const code = systemErrorCode(error);
  if (code === "ENOSPC" || code === "EDQUOT")
    return new SaveError(saveReasons.spoolFull, "The save could not be packed: the node's disk is full.", {
      cause: error,
    });
  if (code !== undefined && /^E[A-Z0-9]+$/.test(code))
    return new SaveError(
      saveReasons.spoolFailed,
      `The save could not be packed: writing to the node's disk failed (${code}).`,
      { cause: error },
    );
  return error;
}

/** Returns whether the node, not the saves, caused the error. The same saves are then packed again later. */
export function isTransient({ reason }: SaveError): boolean {
  return transientReasons.has(reason);
}
