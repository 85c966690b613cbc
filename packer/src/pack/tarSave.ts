import { closeSync, fstatSync, openSync, type BigIntStats } from "node:fs";
import { Readable } from "node:stream";
import { createTarPacker, type TarPackController } from "modern-tar";
import type { PackedSave } from "#contracts/spool.ts";
import { codeOf } from "../errors.ts";
import { createLeftOut } from "../save/skippedEntries.ts";
import { readWhole } from "../save/readFixedSize.ts";
import { createTally } from "../save/saveSize.ts";
import { openUntrusted, walkSave, type SaveEntry, type WalkAccount } from "../save/walk.ts";

/** What went into a tar. */
export interface TarContent {
  entries: number;
  files: number;
  /** In whole pages. */
  unpackedBytes: number;
  leftOut: PackedSave["leftOut"];
  /** False when the game wrote to one of the files while it was read. */
  isStable: boolean;
}

/** A save directory as an uncompressed tar. */
export interface SaveTar {
  stream: Readable;
  /** Settles when the last entry was taken, or none more can be; rejects with Refusal when the directory breaks a limit. */
  content: Promise<TarContent>;
}

/** The last second that twelve octal digits hold. */
const lastSecond = 8 ** 11 - 1;

/** Starts to read a save directory; the same files give the same bytes. */
export function tarSave(directory: string): SaveTar {
  const { readable, controller } = createTarPacker();
  const content = addEntries(controller, directory).then((counts) => {
    controller.finalize();
    return counts;
  }).catch((error: unknown) => {
    controller.error(error);
    throw error;
  });
  return { stream: Readable.fromWeb(readable), content };
}

async function addEntries(controller: TarPackController, directory: string): Promise<TarContent> {
  const account: WalkAccount = { tally: createTally(), leftOut: createLeftOut() };
  const content = { entries: 0, files: 0, isStable: true };
  for (const entry of walkSave(directory, account)) {
    if (entry.stat.isDirectory()) {
      await controller.add({ name: `${entry.path}/`, type: "directory", size: 0, mode: 0o700, mtime: new Date(0) }).close();
    } else {
      const added = await addFile(controller, entry, account);
      if (added === undefined) continue;
      content.files += 1;
      content.isStable &&= added.isStable;
    }
    content.entries += 1;
  }
  return { ...content, unpackedBytes: account.tally.bytes(), leftOut: account.leftOut.summary() };
}

/** Returns undefined when there is nothing to add: the file is gone, or is none by now. */
async function addFile(controller: TarPackController, { path, location }: SaveEntry, { tally, leftOut }: WalkAccount): Promise<{ isStable: boolean } | undefined> {
  let file: number;
  try {
    file = openSync(location, openUntrusted);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    if (code !== "ENOENT") leftOut.add(path, `cannot be read (${code})`);
    return undefined;
  }
  try {
    const stat = fstatSync(file, { bigint: true });
    if (!stat.isFile()) {
      leftOut.add(path, "is neither a file nor a directory");
      return undefined;
    }
    tally.addFile(Number(stat.size));
    const whole = readWhole(file, stat);
    await writeBody(controller.add(headerOf(path, stat)), whole.pieces);
    return { isStable: whole.isStable() };
  } finally {
    closeSync(file);
  }
}

function headerOf(path: string, { size, mode, mtimeNs }: BigIntStats) {
  // A game may set any time, and an archive with one that tar cannot tell would not be read back.
  const seconds = Math.min(lastSecond, Math.max(0, Math.floor(Number(mtimeNs / 1_000_000_000n))));
  return { name: path, type: "file" as const, size: Number(size), mode: (mode & 0o100n) === 0n ? 0o600 : 0o700, mtime: new Date(seconds * 1000) };
}

async function writeBody(body: WritableStream<Uint8Array>, pieces: Iterable<Buffer>): Promise<void> {
  const writer = body.getWriter();
  for (const piece of pieces) await writer.write(piece);
  await writer.close();
}
