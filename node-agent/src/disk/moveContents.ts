import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename } from "node:fs/promises";
import { systemErrorCode } from "#runtime/errors.ts";

/**
 * Moves what is in a folder of few names into another one, and leaves the folder. Of a move that was cut off,
 * `last` is still where it was; done again it goes on where that ended.
 */
export async function moveContents(from: string, to: string, last: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  const names = await readdir(from);
  const ordered = [...names.filter((name) => name !== last), ...names.filter((name) => name === last)];
  for (const name of ordered) await moveBeside(`${from}/${name}`, `${to}/${name}`);
}

/** A folder that was made anew since the first try takes another name: neither is lost. */
async function moveBeside(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCode(error) ?? "")) throw error;
    await rename(from, `${to}.${randomBytes(4).toString("hex")}`);
  }
}
