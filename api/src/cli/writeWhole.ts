import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { realpath, rename, rm, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Writes all of the stream to a file, or leaves the file as it was: it is written beside, and takes the
 * file's place when it is complete. What is no plain file, as a device, is written to.
 */
export async function writeWhole(stream: Readable, path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined && !found.isFile()) return pipeline(stream, createWriteStream(path));
  // What a link leads to is replaced, not the link.
  const target = found === undefined ? path : await realpath(path);
  const draft = `${target}.${randomBytes(4).toString("hex")}.part`;
  try {
    await pipeline(
      stream,
      createWriteStream(draft, { flags: "wx", ...(found !== undefined && { mode: found.mode }) }),
    );
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
