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
  /**
   * `all`: the archive is read to its end to list every entry that violates a rule. `first`: the first one
   * ends it.
   */
  refusals: "all" | "first";
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
  return { limits: limits.archive, names: "portable", headers: "bounded", refusals: "all", ...game };
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
  refusals: "first",
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
  refusals: "first",
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
  /** The entry or the folder above it that violates the rule, once for all entries in that folder. */
  readonly place: string | undefined;
  /** All violations, as far as they are listed; otherwise only this one. */
  readonly refusals: readonly ArchiveRefused[];

  constructor(
    rule: string,
    options: {
      entry?: string | undefined;
      place?: string | undefined;
      cause?: unknown;
      refusals?: readonly ArchiveRefused[];
    } = {},
  ) {
    const { entry, place, cause, refusals } = options;
    super(
      entry === undefined ? `The archive ${rule}.` : `The archive's entry ${quoteEntry(entry)} ${rule}.`,
      { cause },
    );
    this.name = "ArchiveRefused";
    this.rule = rule;
    this.entry = entry;
    this.place = place ?? entry;
    this.refusals = refusals ?? [this];
  }
}

/** Number of violations that an error lists. */
const listedRefusals = 20;
/** Number of violations after which the rest of an archive is not read. */
const maxRefusals = 1000;

/** The violations of an archive that is read to its end. */
export interface RefusalList {
  /** Adds a violation, once per place. Throws all as one error when there are too many. */
  add(refusal: ArchiveRefused): void;
  /** Throws the violations so far as one error, if there are any. */
  throwAny(): void;
}

export function createRefusalList(): RefusalList {
  const known = new Set<string>();
  const listed: ArchiveRefused[] = [];

  function throwAny(): void {
    const [first] = listed;
    if (first === undefined) return;
    if (known.size === 1) throw first;
    const more = known.size - listed.length;
    const rules = listed.map(({ place, rule }) =>
      place === undefined ? rule : `${quoteEntry(place)} ${rule}`,
    );
    if (more > 0) rules.push(`and ${more} more${known.size > maxRefusals ? ", or even more" : ""}`);
    throw new ArchiveRefused(`breaks the rules in several places: ${rules.join("; ")}`, { refusals: listed });
  }

  return {
    add(refusal) {
      known.add(`${refusal.place ?? ""}\0${refusal.rule}`);
      if (known.size > listed.length && listed.length < listedRefusals) listed.push(refusal);
      if (known.size > maxRefusals) throwAny();
    },
    throwAny,
  };
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
