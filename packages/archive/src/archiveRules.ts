import { limits } from "#contracts/limits.ts";

/** The limits of an archive. */
export interface ArchiveLimits {
  /** Bytes of all files together. */
  unpackedBytes: number;
  /** Files and directories, directories that are only named by a path included. */
  entries: number;
  /** Bytes of all entries' paths together. */
  pathsBytes: number;
  /** Unpacked to packed bytes of the whole archive, checked once more than `ratioFreeBytes` are unpacked. */
  ratio: number;
  ratioFreeBytes: number;
  /** How many bytes beyond `ratio` times those read may be unpacked before an end that is not known. */
  ratioAheadBytes: number;
}

/** The rules for an archive. */
export interface ArchiveRules {
  limits: ArchiveLimits;
  /**
   * `portable`: names that mean the same on every file system (NFC, no two that differ only by case, no
   * backslash or drive letter). `posix`: any name that stays inside the directory, as games choose the names
   * of their own saves.
   */
  names: "portable" | "posix";
  /** Whether `createHeaderBounds` bounds the headers that add neither a name nor bytes of a file. */
  headers: "bounded" | "unbounded";
  /** Name of a non-empty file that must be at the root. */
  launcher?: string | undefined;
  /** Name of a directory that must be at the root. */
  engineDir?: string | undefined;
}

/** Returns the rules by which the upload of a game is accepted. */
export function gameArchiveRules(game: {
  launcher?: string | undefined;
  engineDir?: string | undefined;
}): ArchiveRules {
  return { limits: limits.archive, names: "portable", headers: "bounded", ...game };
}

/**
 * The rules for a game's archive that was accepted, as nodes unpack it. That may be long ago, by a release
 * that bounded neither headers nor all paths together: a game that was played before an upgrade is played
 * after it. Its digest pins it: other bytes become no game.
 */
export const acceptedArchiveRules: ArchiveRules = {
  limits: { ...limits.archive, pathsBytes: pathsBytesOf(limits.archive) },
  names: "portable",
  headers: "unbounded",
};

/**
 * The rules for a save as it is packed or uploaded. A save may be all zeros, so that its ratio is not
 * limited. What it unpacks to is bounded all the same: by its files' bytes, by two blocks for each entry, by
 * `createHeaderBounds` for all other headers, and by what may follow its end marker.
 */
export const saveArchiveRules: ArchiveRules = {
  limits: {
    ...limits.save,
    pathsBytes: pathsBytesOf(limits.save),
    ratio: Number.POSITIVE_INFINITY,
    ratioFreeBytes: limits.save.unpackedBytes,
    ratioAheadBytes: limits.save.unpackedBytes,
  },
  names: "posix",
  headers: "bounded",
};

/**
 * The rules for a save as it is restored: a release may have accepted it that did not bound headers. Its
 * digest pins it.
 */
export const storedSaveRules: ArchiveRules = { ...saveArchiveRules, headers: "unbounded" };

/** Returns what paths take at most that only their number and the length of each bound. */
function pathsBytesOf({ entries }: { entries: number }): number {
  return entries * limits.archive.pathBytes;
}

/** An archive breaks a rule of Joypod; the message says which, and names the entry if one breaks it. */
export class ArchiveRefused extends Error {
  /** The broken rule, without the entry. */
  readonly rule: string;
  /** Path of the entry as far as it could be read; undefined when the archive as a whole breaks the rule. */
  readonly entry: string | undefined;

  constructor(rule: string, options: { entry?: string | undefined; cause?: unknown } = {}) {
    const { entry, cause } = options;
    super(
      entry === undefined ? `The archive ${rule}.` : `The archive's entry ${quoteEntry(entry)} ${rule}.`,
      { cause },
    );
    this.name = "ArchiveRefused";
    this.rule = rule;
    this.entry = entry;
  }
}

/**
 * Returns the entry's name as one printable line of bounded length: names come from outside and reach logs
 * and status.
 */
export function quoteEntry(entry: string): string {
  const quoted = JSON.stringify(entry).replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    escapeCharacter,
  );
  return quoted.length <= 200 ? quoted : `${quoted.slice(0, 140)}…${quoted.slice(-55)}`;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
