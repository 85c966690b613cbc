import { closeSync, constants, lstatSync, openSync, opendirSync, type BigIntStats } from "node:fs";
import { saveReasons } from "#contracts/crd/reasons.ts";
import { codeOf, Refusal } from "../errors.ts";
import { reasonToLeaveOut } from "./entryRules.ts";
import type { LeftOut } from "./skippedEntries.ts";
import type { Tally } from "./saveSize.ts";

/**
 * The game can swap names under us, so nothing is followed (O_NOFOLLOW), a FIFO must not hold us (O_NONBLOCK), and what
 * was opened is judged by its handle, never by its name.
 */
export const openUntrusted = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** A file or directory of a save, as it was when its name was looked at. */
export interface SaveEntry {
  path: string;
  stat: BigIntStats;
  /** Leads to it through the handle of its directory; good until the walk goes on. */
  location: Buffer;
}

/** What a walk tells as it goes. */
export interface WalkAccount {
  tally: Tally;
  leftOut: LeftOut;
}

/**
 * Walks everything below a directory that untrusted code writes to, in the order of the names. Directories are entered through the handle
 * of the one above, so that no swapped parent leads elsewhere. Throws Refusal.
 */
export function* walkSave(root: string, account: WalkAccount): Generator<SaveEntry, void, void> {
  const directory = openRoot(root);
  try {
    yield* walkDirectory(directory, "", account);
  } finally {
    closeSync(directory);
  }
}

function openRoot(root: string): number {
  try {
    return openSync(root, openUntrusted | constants.O_DIRECTORY);
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    if (code === "ENOENT") throw new Refusal(saveReasons.saveMissing, "The save directory is gone.", { cause: error });
    if (code === "ENOTDIR" || code === "ELOOP") throw new Refusal(saveReasons.saveMissing, "The save directory was replaced by something else.", { cause: error });
    throw new Refusal(saveReasons.saveUnreadable, `The save directory cannot be read: ${code}.`, { cause: error });
  }
}

function* walkDirectory(directory: number, prefix: string, account: WalkAccount): Generator<SaveEntry, void, void> {
  for (const name of listNames(directory, prefix, account)) {
    const path = prefix + name.toString("utf8");
    const location = Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
    const stat = tried(path, account, () => lstatSync(location, { bigint: true }));
    if (stat === undefined) continue;
    const reason = reasonToLeaveOut(path, name, stat);
    if (reason !== undefined) account.leftOut.add(path, reason);
    else if (stat.isDirectory()) yield* enterDirectory({ path, stat, location }, account);
    else yield { path, stat, location };
  }
}

function* enterDirectory(entry: SaveEntry, account: WalkAccount): Generator<SaveEntry, void, void> {
  const directory = tried(entry.path, account, () => openSync(entry.location, openUntrusted | constants.O_DIRECTORY));
  if (directory === undefined) return;
  try {
    yield entry;
    yield* walkDirectory(directory, `${entry.path}/`, account);
  } finally {
    closeSync(directory);
  }
}

/** Sorted, so that the same files give the same bytes; counted while they are read, so that no folder is too large to be refused. */
function listNames(directory: number, prefix: string, account: WalkAccount): Buffer[] {
  const names = tried(prefix, account, () => readNames(directory, account.tally)) ?? [];
  return names.sort((left, right) => left.compare(right));
}

function readNames(directory: number, tally: Tally): Buffer[] {
  const names: Buffer[] = [];
  // Each byte as one character: names need not be UTF-8.
  const listing = opendirSync(`/proc/self/fd/${directory}`, { encoding: "latin1" });
  try {
    for (;;) {
      const entry = listing.readSync();
      if (entry === null) return names;
      tally.addName();
      names.push(Buffer.from(entry.name, "latin1"));
    }
  } finally {
    listing.closeSync();
  }
}

/** Returns undefined for what is gone since it was listed, as is ordinary, and for what cannot be read. */
function tried<T>(path: string, { leftOut }: WalkAccount, look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    if (code !== "ENOENT") leftOut.add(path, `cannot be read (${code})`);
    return undefined;
  }
}
