import { statfs } from "node:fs/promises";
import { limits } from "#contracts/limits.ts";

/** What the file system that holds the cache has. */
export interface DiskSpace {
  totalBytes: number;
  freeBytes: number;
  /** Inodes: files and folders that may still be made. Infinity on file systems that do not count them. */
  freeFiles: number;
}

/** Returns how large the path's file system is, and how much of it an unprivileged user may still take. */
export async function readDiskSpace(path: string): Promise<DiskSpace> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(path);
  return {
    totalBytes: bsize * blocks,
    freeBytes: bsize * bavail,
    freeFiles: files === 0 ? Number.POSITIVE_INFINITY : ffree,
  };
}

/**
 * Returns what the disk has too little of for the saves of sessions. Between the two bounds the result stays
 * as it was, so that a few files do not turn it back and forth.
 */
export function shortageOf(
  { freeBytes, freeFiles }: DiskSpace,
  wasShort: boolean,
): "bytes" | "files" | undefined {
  const { minFreeBytes, enoughFreeBytes, minFreeFiles, enoughFreeFiles } = limits.node;
  if (freeBytes < (wasShort ? enoughFreeBytes : minFreeBytes)) return "bytes";
  return freeFiles < (wasShort ? enoughFreeFiles : minFreeFiles) ? "files" : undefined;
}

/**
 * Returns whether inodes are what the disk has least of: fewer than blocks, of which nearly every file takes
 * one.
 */
export function lacksFiles({ freeBytes, freeFiles }: DiskSpace): boolean {
  return freeFiles < freeBytes / blockBytes;
}

/** Returns the configured budget, or 80 % of the file system when it is 0. */
export function budgetBytes(configured: number, disk: DiskSpace): number {
  return configured > 0 ? configured : Math.floor(disk.totalBytes * 0.8);
}

/**
 * Returns the bytes that are set aside for a version while it is unpacked: files end in half-filled blocks.
 * How many files there are nobody knows yet.
 */
export function neededBytes(unpackedSizeBytes: number): number {
  return Math.ceil(unpackedSizeBytes * 1.05);
}

/** What the file systems of nodes give a file or directory at least, however little is in it. */
const blockBytes = 4096;

/**
 * Returns the bytes that an unpacked version takes on disk at most: each of its files and directories may end
 * in a block that is all but empty.
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
