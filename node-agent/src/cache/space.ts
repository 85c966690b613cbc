import { statfs } from "node:fs/promises";

/** Bytes of the file system that holds the cache. */
export interface DiskSpace {
  totalBytes: number;
  freeBytes: number;
}

/** Returns how large the path's file system is, and how much of it an unprivileged user may still take. */
export async function readDiskSpace(path: string): Promise<DiskSpace> {
  const { bsize, blocks, bavail } = await statfs(path);
  return { totalBytes: bsize * blocks, freeBytes: bsize * bavail };
}

/** Returns the configured budget, or 80 % of the file system when it is 0. */
export function budgetBytes(configured: number, disk: DiskSpace): number {
  return configured > 0 ? configured : Math.floor(disk.totalBytes * 0.8);
}

/** Returns the bytes that a version takes on disk at most while it is unpacked: files end in half-filled blocks. */
export function neededBytes(unpackedSizeBytes: number): number {
  return Math.ceil(unpackedSizeBytes * 1.05);
}
