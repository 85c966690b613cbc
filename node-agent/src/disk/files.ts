import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { messageOf, systemErrorCode } from "#runtime/errors.ts";

const absentCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

/**
 * Whether the error says that nothing is there. A disk that fails, or a process without memory or open files,
 * says nothing of the kind.
 */
export function isAbsent(error: unknown): boolean {
  return absentCodes.has(systemErrorCode(error) ?? "");
}

/**
 * Returns whether an error says that the disk has no room left, of bytes or of inodes, or that a quota is
 * used up.
 */
export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(systemErrorCode(error) ?? "");
}

/**
 * Returns in a sentence or two that the folder of games and saves cannot be written to, what the error says
 * of it, and what mends that.
 */
export function unwritableRoot(root: string, error: unknown): string {
  // The agent is root, whom no file mode keeps out.
  const remedy =
    systemErrorCode(error) === "EACCES"
      ? "If the node enforces SELinux, label the folder and set nodeAgent.seLinuxOptions (see docs/install.md). Otherwise repair the disk, or set gameNodes.root to a folder on another disk."
      : "Repair the disk, or set gameNodes.root to a folder on another disk.";
  return `${root} is not writable: ${messageOf(error)}. ${remedy}`;
}

/** Makes a directory's own entries durable. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
