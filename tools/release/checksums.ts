import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";

/** Writes SHA256SUMS of all files in the folder, in the format of `sha256sum --check`. */
export async function writeChecksums(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && entry.name !== "SHA256SUMS")
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
  const lines: string[] = [];
  for (const file of files) {
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, file)), hash);
    lines.push(`${hash.digest("hex")}  ${file}\n`);
  }
  await writeFile(join(folder, "SHA256SUMS"), lines.join(""));
}
