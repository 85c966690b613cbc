import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { createTarPacker, type TarPackController } from "modern-tar";
import { limits } from "#contracts/limits.ts";
import type { Clock } from "#kube/clock.ts";
import { SaveTooLarge } from "./errors.ts";
import { walkSave } from "./saveTree.ts";
import { readStable } from "./stableRead.ts";

/** A packed save in a file of ours. The same files give the same bytes. */
export interface PackedSave {
  path: string;
  sizeBytes: number;
  sha256: string;
  /** Base64. */
  md5: string;
  /** Files in it. */
  files: number;
}

export interface PackOptions {
  saveDirectory: string;
  /** The archive is written here, its scratch file beside it; both are replaced. */
  packedPath: string;
  clock: Clock;
  signal: AbortSignal;
  onSkip: (path: string, reason: string) => void;
}

/** Packs a save directory as tar.gz. Throws SaveTooLarge. */
export async function packSave(options: PackOptions): Promise<PackedSave> {
  const { packedPath, signal } = options;
  const { readable, controller } = createTarPacker();
  const digests = createDigests();
  let files = 0;
  const packing = addEntries(controller, options).then((count) => {
    files = count;
    controller.finalize();
  }).catch((error: unknown) => {
    controller.error(error);
    throw error;
  });
  const [packed, written] = await Promise.allSettled([
    packing,
    pipeline(Readable.fromWeb(readable), createGzip({ level: 6 }), digests.stream, createWriteStream(packedPath, { mode: 0o600 }), { signal }),
  ]);
  // What stopped the packing is the cause; the broken pipe after it is not.
  if (written.status === "rejected" && !(packed.status === "rejected" && packed.reason instanceof SaveTooLarge)) throw written.reason;
  if (packed.status === "rejected") throw packed.reason;
  return { path: packedPath, files, ...digests.result() };
}

async function addEntries(controller: TarPackController, { saveDirectory, packedPath, clock, signal, onSkip }: PackOptions): Promise<number> {
  const spoolPath = `${packedPath}.copy`;
  let files = 0;
  try {
    await walkSave(saveDirectory, {
      signal,
      onSkip,
      async visit({ path, stat, file }) {
        if (file === undefined) {
          await controller.add({ name: `${path}/`, type: "directory", size: 0, mode: 0o700, mtime: new Date(0) }).close();
          return;
        }
        const copy = await readStable(file, spoolPath, clock, signal);
        if (!copy.isStable) onSkip(path, "was written to all the time: stored as it was read");
        const mode = (stat.mode & 0o100n) === 0n ? 0o600 : 0o700;
        const header = { name: path, type: "file" as const, size: copy.sizeBytes, mode, mtime: new Date(Number(stat.mtimeMs)) };
        await writeBody(controller.add(header), copy.pieces());
        files += 1;
      },
    });
    return files;
  } finally {
    await rm(spoolPath, { force: true });
  }
}

async function writeBody(body: WritableStream<Uint8Array>, pieces: AsyncIterable<Buffer>): Promise<void> {
  const writer = body.getWriter();
  for await (const piece of pieces) await writer.write(piece);
  await writer.close();
}

/** Measures and hashes what passes, and stops it at the limit. */
function createDigests(): { stream: Transform; result: () => Pick<PackedSave, "sizeBytes" | "sha256" | "md5"> } {
  const sha256 = createHash("sha256");
  const md5 = createHash("md5");
  let sizeBytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sha256.update(chunk);
      md5.update(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > limits.save.packedBytes) done(new SaveTooLarge(`packs to more than ${limits.save.packedBytes} bytes`));
      else done(null, chunk);
    },
  });
  return { stream, result: () => ({ sizeBytes, sha256: sha256.digest("hex"), md5: md5.digest("base64") }) };
}
