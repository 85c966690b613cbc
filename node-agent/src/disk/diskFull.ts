import { systemErrorCode } from "#runtime/errors.ts";

/**
 * Returns whether an error says that the disk has no room left, of bytes or of inodes, or that a quota is
 * used up.
 */
export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(systemErrorCode(error) ?? "");
}
