import { closeSync, constants, lstatSync, openSync, opendirSync, type BigIntStats } from "node:fs";
import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";
import type { SaveQuota } from "./saveQuota.ts";
import { ArchiveRefused, quoteEntry } from "#archive/archiveRules.ts";
import { parseEntryName } from "#archive/entryTree.ts";
import type { PackedSave } from "#contracts/spool.ts";

/** Entries of a save directory that are not packed, as a count and one example. */
export interface SkippedEntries {
  add(path: string, reason: string): void;
  summary(): PackedSave["leftOut"];
}

/** Returns an empty summary. */
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
 * Flags for opening paths that the game may replace at any time: O_NOFOLLOW does not follow links, O_NONBLOCK
 * does not block on a FIFO. What was opened is checked by its handle, never by its name.
 */
export const openUntrusted =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** A file or directory of a save, as of when its name was read. */
export interface SaveEntry {
  path: string;
  stat: BigIntStats;
  /** Path through the parent's handle; valid until the walk continues. */
  location: Buffer;
}

/** Collects what a walk counts and skips. */
export interface WalkContext {
  quota: SaveQuota;
  skipped: SkippedEntries;
}

/**
 * Walks everything below a directory that untrusted code writes to, in name order. Each directory is entered
 * through its parent's handle, so that a replaced parent leads nowhere else.
 *
 * @throws SaveError
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
      throw new SaveError(saveReasons.saveMissing, "The save directory no longer exists.", { cause: error });
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
 * Returns the names in order, so that the same files produce the same bytes. Counts names while reading them,
 * so that no folder is too large to be rejected.
 */
function listNames(directory: number, prefix: string, context: WalkContext): Buffer[] {
  const names = readOrSkip(prefix, context, () => readNames(directory, context.quota)) ?? [];
  return names.sort((left, right) => left.compare(right));
}

function readNames(directory: number, quota: SaveQuota): Buffer[] {
  const names: Buffer[] = [];
  // One character per byte: names need not be UTF-8.
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
 * Returns undefined for an entry that was removed since it was listed, which is normal, and for an unreadable
 * entry, which is skipped.
 *
 * @throws SaveError when the system ran out of a resource.
 */
export function readOrSkip<T>(path: string, { skipped }: WalkContext, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    throwIfExhausted(error);
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    if (code !== "ENOENT") skipped.add(path, `cannot be read (${code})`);
    return undefined;
  }
}

const maxDepth = 64;

/** Returns why an entry must be left out of the archive; undefined when it can be packed. */
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

/** Error codes of a system that ran out of open files or memory, whatever is read. */
const exhaustionCodes: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/**
 * Throws SaveError when the system ran out of a resource. The error says nothing about the file, which a
 * retry may read; a save without it would replace a good one.
 */
export function throwIfExhausted(error: unknown): void {
  const code = systemErrorCode(error);
  if (code !== undefined && exhaustionCodes.has(code))
    throw new SaveError(saveReasons.saveUnreadable, `The save directory cannot be read right now: ${code}.`, {
      cause: error,
    });
}
