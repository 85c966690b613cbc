import { limits } from "#contracts/limits.ts";

/** The numbers an archive is held to. */
export interface ArchiveLimits {
  /** Bytes of all files together. */
  unpackedBytes: number;
  /** Files and directories, directories that are only named by a path included. */
  entries: number;
  /** Unpacked to packed bytes, judged once more than `ratioFreeBytes` are unpacked. */
  ratio: number;
  ratioFreeBytes: number;
}

/** What an archive must be. */
export interface ArchiveRules {
  limits: ArchiveLimits;
  /**
   * `portable`: names that mean the same on every file system (NFC, no twins by case, no backslash or drive letter).
   * `posix`: whatever a game may call its own saves, as long as it stays inside the directory.
   */
  names: "portable" | "posix";
  /** A non-empty file that must be at the root. */
  launcher?: string | undefined;
  /** A directory that must be at the root. */
  engineDir?: string | undefined;
}

/** The rules of a game's archive, the same at upload and on the node. */
export function gameArchiveRules(game: { launcher?: string | undefined; engineDir?: string | undefined }): ArchiveRules {
  return { limits: limits.archive, names: "portable", ...game };
}

/** The rules of a stored save. Saves may be all zeros, so the ratio judges later than for games. */
export const saveArchiveRules: ArchiveRules = {
  limits: { ...limits.save, ratio: Number.POSITIVE_INFINITY, ratioFreeBytes: limits.save.unpackedBytes },
  names: "posix",
};
