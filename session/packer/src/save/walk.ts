import { closeSync, constants, lstatSync, openSync, opendirSync, type BigIntStats } from "node:fs";
import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";
import type { SaveQuota } from "./saveQuota.ts";
import { ArchiveRefused, quoteEntry } from "#archive/archiveRefused.ts";
import { parseEntryName } from "#archive/entryName.ts";
import type { PackedSave } from "#contracts/spool.ts";

/** The entries of a save directory that are not packed, as a count and one example. */
export interface SkippedEntries {
  add(path: string, reason: string): void;
  summary(): PackedSave["leftOut"];
}

/** Returns a summary without entries. */
export function createSkippedEntries(): SkippedEntries {
  let count = 0;
  let example = "";
  return {
    add(path, reason) {
      count += 1;
      if (count === 1) example = `${quoteEntry(path)} ${reason}`.slice(0, 1024);
    },
    summary: () => (count === 0 ? undefined : { count, example }),
  };
}

/**
 * Flags to open what the game may replace at any time: links are not followed (O_NOFOLLOW), a FIFO does not
 * block (O_NONBLOCK), and what was opened is checked by its handle, never by its name.
 */
export const openUntrusted =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** A file or directory of a save, as it was when its name was read. */
export interface SaveEntry {
  path: string;
  stat: BigIntStats;
  /** Path through the handle of its directory; valid until the walk goes on. */
  location: Buffer;
}

/** What a walk counts, and what it skips. */
export interface WalkContext {
  quota: SaveQuota;
  skipped: SkippedEntries;
}

/**
 * Walks everything below a directory that untrusted code writes to, in the order of the names. Directories
 * are entered through the handle of the one above, so that a replaced parent leads nowhere else. Throws
 * SaveError.
 */
export function* walkSave(root: string, context: WalkContext): Generator<SaveEntry, void, void> {
  const directory = openRoot(root);
  try {
    yield* walkDirectory(directory, "", context);
  } finally {
    closeSync(directory);
  }
}

function openRoot(root: string): number {
  try {
    return openSync(root, openUntrusted | constants.O_DIRECTORY);
  } catch (error) {
    const code = systemErrorCode(error) ?? String(error);
    if (code === "ENOENT")
      throw new SaveError(saveReasons.saveMissing, "The save directory is gone.", { cause: error });
    if (code === "ENOTDIR" || code === "ELOOP")
      throw new SaveError(saveReasons.saveMissing, "The save directory was replaced by something else.", {
        cause: error,
      });
    throw new SaveError(saveReasons.saveUnreadable, `The save directory cannot be read: ${code}.`, {
      cause: error,
    });
  }
}

function* walkDirectory(
  directory: number,
  prefix: string,
  context: WalkContext,
): Generator<SaveEntry, void, void> {
  for (const name of listNames(directory, prefix, context)) {
    const path = prefix + name.toString("utf8");
    const location = Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
    const stat = readOrSkip(path, context, () => lstatSync(location, { bigint: true }));
    if (stat === undefined) continue;
    const reason = reasonToSkip(path, name, stat);
    if (reason !== undefined) context.skipped.add(path, reason);
    else if (stat.isDirectory()) yield* enterDirectory({ path, stat, location }, context);
    else yield { path, stat, location };
  }
}

function* enterDirectory(entry: SaveEntry, context: WalkContext): Generator<SaveEntry, void, void> {
  const directory = readOrSkip(entry.path, context, () =>
    openSync(entry.location, openUntrusted | constants.O_DIRECTORY),
  );
  if (directory === undefined) return;
  try {
    yield entry;
    yield* walkDirectory(directory, `${entry.path}/`, context);
  } finally {
    closeSync(directory);
  }
}

/**
 * Returns the names in order, so that the same files make the same bytes; counts them while they are read, so
 * that no folder is too large to be rejected.
 */
function listNames(directory: number, prefix: string, context: WalkContext): Buffer[] {
  const names = readOrSkip(prefix, context, () => readNames(directory, context.quota)) ?? [];
  return names.sort((left, right) => left.compare(right));
}

function readNames(directory: number, quota: SaveQuota): Buffer[] {
  const names: Buffer[] = [];
  // Each byte as one character: names need not be UTF-8.
  const listing = opendirSync(`/proc/self/fd/${directory}`, { encoding: "latin1" });
  try {
    for (;;) {
      const entry = listing.readSync();
      if (entry === null) return names;
      quota.addName();
      names.push(Buffer.from(entry.name, "latin1"));
    }
  } finally {
    listing.closeSync();
  }
}

/**
 * Returns undefined for what was removed since it was listed, as is ordinary, and for what cannot be read,
 * which is skipped. Throws SaveError where the system is to blame.
 */
export function readOrSkip<T>(path: string, { skipped }: WalkContext, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    throwSystemLack(error);
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    if (code !== "ENOENT") skipped.add(path, `cannot be read (${code})`);
    return undefined;
  }
}

const maxDepth = 64;

/** Returns why an entry cannot be part of an archive that is read back; undefined when it can. */
function reasonToSkip(path: string, name: Buffer, stat: BigIntStats): string | undefined {
  if (!stat.isFile() && !stat.isDirectory())
    return stat.isSymbolicLink() ? "is a symbolic link" : "is neither a file nor a directory";
  if (!Buffer.from(name.toString("utf8")).equals(name)) return "has a name that is not UTF-8";
  try {
    const components = parseEntryName(stat.isDirectory() ? `${path}/` : path, "posix");
    return components.length > maxDepth ? "lies too deep" : undefined;
  } catch (error) {
    if (error instanceof ArchiveRefused) return error.rule;
    throw error;
  }
}

/** What the system says where it has no room for one more open file, or no memory, whatever is read. */
const lackCodes: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/**
 * Throws SaveError where the system lacked what reading takes. That tells nothing of the file, which the next
 * try may read: a save without it would take the place of a good one.
 */
export function throwSystemLack(error: unknown): void {
  const code = systemErrorCode(error);
  if (code !== undefined && lackCodes.has(code))
    throw new SaveError(saveReasons.saveUnreadable, `The save directory cannot be read now: ${code}.`, {
      cause: error,
    });
}
