import { closeSync, constants, lstatSync, openSync, opendirSync, type BigIntStats } from "node:fs";
import { saveReasons } from "#contracts/crd/reasons.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";
import { reasonToSkip } from "./entryRules.ts";
import type { SkippedEntries } from "./skippedEntries.ts";
import type { SaveQuota } from "./saveQuota.ts";
import { throwSystemLack } from "./systemLack.ts";

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
