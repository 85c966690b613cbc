import { statfs } from "node:fs/promises";
import { limits } from "#contracts/limits.ts";

/** Size and free space of the file system that holds the cache. */
export interface DiskSpace {
  totalBytes: number;
  freeBytes: number;
  /**
   * Free inodes, the number of files and folders that can still be created. Infinity on file systems that do
   * not count them.
   */
  freeFiles: number;
}

/** Returns the size of the path's file system and the space that an unprivileged user may still take. */
export async function readDiskSpace(path: string): Promise<DiskSpace> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path);
  return {
    totalBytes: bsize * blocks,
    freeBytes: bsize * bavail,
    freeFiles: files === 0 ? Number.POSITIVE_INFINITY : ffree,
  };
}

/**
 * Returns the resource that is too low for the saves of sessions. Between the two thresholds the previous
 * result is kept, so that a few files do not make it flap.
 */
export function shortageOf(
  { freeBytes, freeFiles }: DiskSpace,
  wasShort: boolean,
): "bytes" | "files" | undefined {
  const { minFreeBytes, enoughFreeBytes, minFreeFiles, enoughFreeFiles } = limits.node;
  if (freeBytes < (wasShort ? enoughFreeBytes : minFreeBytes)) return "bytes";
  return freeFiles < (wasShort ? enoughFreeFiles : minFreeFiles) ? "files" : undefined;
}

/** Returns whether inodes are scarcer than blocks. Nearly every file takes at least one block. */
export function lacksFiles({ freeBytes, freeFiles }: DiskSpace): boolean {
  return freeFiles < freeBytes / blockBytes;
}

/** Returns the configured budget, or 80 % of the file system if it is 0. */
export function budgetBytes(configured: number, disk: DiskSpace): number {
  return configured > 0 ? configured : Math.floor(disk.totalBytes * 0.8);
}

/**
 * Returns the bytes reserved for a version while it is unpacked. Includes an allowance for half-filled last
 * blocks, because the number of files is not known yet.
 */
export function neededBytes(unpackedSizeBytes: number): number {
  return Math.ceil(unpackedSizeBytes * 1.05);
}

/** Minimum allocation of a file or directory on the file systems of nodes. */
const blockBytes = 4096;

/**
 * Returns the maximum disk usage of an unpacked version. Each of its files and directories may end in an
 * almost empty block.
 */
export function occupiedBytes({
  unpackedBytes,
  entries,
}: {
  unpackedBytes: number;
  entries: number;
}): number {
  return unpackedBytes + entries * blockBytes;
}
