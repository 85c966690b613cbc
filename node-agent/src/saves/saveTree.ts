import { constants, type BigIntStats } from "node:fs";
import { open, readdir, type FileHandle } from "node:fs/promises";
import { ArchiveRefused } from "#contracts/archive/archiveRefused.ts";
import { parseEntryName } from "#contracts/archive/entryName.ts";
import { limits } from "#contracts/limits.ts";
import { SaveTooLarge } from "./errors.ts";

/** A file or directory of a save; the handle of a file is open for as long as the visit lasts. */
export interface SaveEntry {
  path: string;
  stat: BigIntStats;
  /** Undefined for a directory. */
  file: FileHandle | undefined;
}

export interface WalkOptions {
  visit: (entry: SaveEntry) => Promise<void>;
  /** Told of what is left out, and why. */
  onSkip: (path: string, reason: string) => void;
  signal: AbortSignal;
}

/**
 * The game can swap names under us, so nothing is followed (O_NOFOLLOW), a FIFO must not hold us (O_NONBLOCK), and what
 * was opened is judged by its handle, never by its name.
 */
const openUntrusted = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const maxDepth = 64;

/**
 * Visits everything below a directory that untrusted code writes to, in the order of the names. Directories are
 * entered through the handle of the one above, so that no swapped parent leads elsewhere. Throws SaveTooLarge.
 */
export async function walkSave(root: string, options: WalkOptions): Promise<void> {
  const handle = await open(root, openUntrusted | constants.O_DIRECTORY);
  try {
    await walkDirectory(handle, "", 0, { entries: 0, bytes: 0 }, options);
  } finally {
    await handle.close();
  }
}

interface Totals {
  entries: number;
  bytes: number;
}

async function walkDirectory(directory: FileHandle, prefix: string, depth: number, totals: Totals, options: WalkOptions): Promise<void> {
  const own = `/proc/self/fd/${directory.fd}`;
  const names = await readdir(Buffer.from(own), { encoding: "buffer" });
  for (const name of names.sort((left, right) => left.compare(right))) {
    options.signal.throwIfAborted();
    const path = prefix + name.toString("utf8");
    const reason = depth >= maxDepth ? "lies too deep" : refusalOf(path, name);
    if (reason !== undefined) options.onSkip(path, reason);
    else await visitChild(Buffer.concat([Buffer.from(`${own}/`), name]), path, depth, totals, options);
  }
}

async function visitChild(location: Buffer, path: string, depth: number, totals: Totals, options: WalkOptions): Promise<void> {
  const handle = await openChild(location, path, options);
  if (handle === undefined) return;
  try {
    const stat = await handle.stat({ bigint: true });
    if (stat.isDirectory()) {
      count(totals, 0n);
      await options.visit({ path, stat, file: undefined });
      await walkDirectory(handle, `${path}/`, depth + 1, totals, options);
    } else if (stat.isFile()) {
      count(totals, stat.size);
      await options.visit({ path, stat, file: handle });
    } else {
      options.onSkip(path, "is neither a file nor a directory");
    }
  } finally {
    await handle.close();
  }
}

async function openChild(location: Buffer, path: string, { onSkip }: WalkOptions): Promise<FileHandle | undefined> {
  try {
    return await open(location, openUntrusted);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return undefined; // Deleted since it was listed.
    if (code === "ELOOP") onSkip(path, "is a symbolic link");
    else if (code === "ENXIO" || code === "ENODEV") onSkip(path, "is neither a file nor a directory");
    else throw error;
    return undefined;
  }
}

/** Names that could not be restored are not stored. */
function refusalOf(path: string, name: Buffer): string | undefined {
  if (!Buffer.from(name.toString("utf8")).equals(name)) return "has a name that is not UTF-8";
  try {
    parseEntryName(path, "posix");
    return undefined;
  } catch (error) {
    if (error instanceof ArchiveRefused) return error.message;
    throw error;
  }
}

function count(totals: Totals, size: bigint): void {
  totals.entries += 1;
  totals.bytes += Number(size);
  if (totals.entries > limits.save.entries) throw new SaveTooLarge(`has more than ${limits.save.entries} files and directories`);
  if (totals.bytes > limits.save.unpackedBytes) throw new SaveTooLarge(`holds more than ${limits.save.unpackedBytes} bytes`);
}
