import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { createGzip, gzipSync } from "node:zlib";
import { packTar, type TarEntry } from "modern-tar";

/** Launcher and engine directory of the games whose archives are made here. */
export const archivedGame = { launcher: "play.sh", engineDir: "engine" } as const;

/** A small good archive; every call makes another one, by its random content. */
export async function anArchive(...extra: TarEntry[]): Promise<Buffer> {
  const data = randomBytes(2000);
  return gzipSync(await packTar([
    { header: { name: "engine/", type: "directory", size: 0 } },
    { header: { name: "engine/data.bin", size: data.length }, body: data },
    { header: { name: "play.sh", size: 9, mode: 0o755 }, body: "#!/bin/sh" },
    ...extra,
  ]));
}

export function sha256Of(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A good archive of about so many bytes that do not shrink, made while it is read; nothing of it is kept. */
export async function aLargeArchive(bytes: number): Promise<Readable> {
  const head = Buffer.from(await packTar([
    { header: { name: "engine/", type: "directory", size: 0 } },
    { header: { name: "play.sh", size: 9, mode: 0o755 }, body: "#!/bin/sh" },
    { header: { name: "engine/data.bin", size: 0 } },
  ]));
  // The header of the last entry, with the size that its content shall have, instead of the end marker.
  const header = Buffer.from(head.subarray(head.length - 1024 - 512, head.length - 1024));
  header.write(`${bytes.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  const block = randomBytes(1 << 20);
  function* content(): Generator<Buffer> {
    yield head.subarray(0, head.length - 1024 - 512);
    yield header;
    for (let left = bytes; left > 0; left -= block.length) {
      block.writeBigUInt64LE(BigInt(left), 0);
      yield Buffer.from(block.subarray(0, Math.min(left, block.length)));
    }
    yield Buffer.alloc((512 - (bytes % 512)) % 512 + 1024);
  }
  return Readable.from(content(), { objectMode: false, highWaterMark: 1 << 20 }).pipe(createGzip({ level: 0, chunkSize: 1 << 20 }));
}
