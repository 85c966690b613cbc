import { limits } from "#contracts/limits.ts";

/** The limits of an archive. */
export interface ArchiveLimits {
  /** Total size of all files in bytes. */
  unpackedBytes: number;
  /** Number of files and directories, including directories that only appear in paths. */
  entries: number;
  /** Total length of all paths in bytes. */
  pathsBytes: number;
  /** Maximum ratio of unpacked to packed bytes, checked above `ratioFreeBytes` unpacked bytes. */
  ratio: number;
  ratioFreeBytes: number;
  /**
   * Unpacked bytes allowed above `ratio` times the packed bytes read so far, if the total size is unknown.
   */
  ratioAheadBytes: number;
}

/** The rules for an archive. */
export interface ArchiveRules {
  limits: ArchiveLimits;
  /**
   * `portable`: names that mean the same on every file system (NFC, no two that differ only by case, no
   * backslash or drive letter). `posix`: any name inside the directory, because games choose the names of
   * their saves.
   */
  names: "portable" | "posix";
  /** Whether `createHeaderBounds` limits headers that add neither a name nor file content. */
  headers: "bounded" | "unbounded";
  /** Name of a non-empty file that is required at the root. */
  launcher?: string | undefined;
  /** Name of a directory that is required at the root. */
  engineDir?: string | undefined;
}

/** Returns the rules for uploads of a game. */
export function gameArchiveRules(game: {
  launcher?: string | undefined;
  engineDir?: string | undefined;
}): ArchiveRules {
  return { limits: limits.archive, names: "portable", headers: "bounded", ...game };
}

/**
 * The rules for unpacking an accepted game archive on a node. They omit the limits for headers and total path
 * length, because an older release may have accepted the archive without them, and it must remain playable
 * after an upgrade. The archive's digest ensures that the content is unchanged.
 */
export const acceptedArchiveRules: ArchiveRules = {
  limits: { ...limits.archive, pathsBytes: pathsBytesOf(limits.archive) },
  names: "portable",
  headers: "unbounded",
};

/**
 * The rules for packing and uploading a save. A save may consist of zeros, so its ratio is not limited. Its
 * unpacked size is still limited by the size of its files, two blocks per entry, `createHeaderBounds` for
 * other headers, and the limit after the end marker.
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
 * The rules for restoring a save. They omit the limits for headers, because an older release may have
 * accepted the save without them. The save's digest ensures that the content is unchanged.
 */
export const storedSaveRules: ArchiveRules = { ...saveArchiveRules, headers: "unbounded" };

/** Returns the maximum total length of paths that are limited only by number and length. */
function pathsBytesOf({ entries }: { entries: number }): number {
  return entries * limits.archive.pathBytes;
}

/** An archive violates a rule. The message names the rule, and the entry if there is one. */
export class ArchiveRefused extends Error {
  /** The violated rule, without the entry. */
  readonly rule: string;
  /** Path of the entry as far as it could be read; undefined if the violation concerns the whole archive. */
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
 * Returns the entry's name as a printable line of limited length, because names are untrusted and appear in
 * logs and status.
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
