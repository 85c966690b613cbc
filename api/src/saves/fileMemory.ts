const pageBytes = 4096;

/** Returns the memory that a save's file takes on its node, in whole pages, as the packer counts it. */
export function fileMemory({ size }: { size: number }): number {
  return Math.ceil(size / pageBytes) * pageBytes;
}
