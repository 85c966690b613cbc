/** Returns whether an error says that the disk has no room left, of bytes or of inodes, or that a quota is used up. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
