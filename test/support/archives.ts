import { createHash, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
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
