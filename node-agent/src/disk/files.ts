import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { messageOf, systemErrorCode } from "#runtime/errors.ts";

const absentCodes: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR"]);

/**
 * Returns whether the error means that the path does not exist. Disk failures and a lack of memory or file
 * descriptors do not count.
 */
export function isAbsent(error: unknown): boolean {
  return absentCodes.has(systemErrorCode(error) ?? "");
}

/** Returns whether the error means that the disk is out of bytes or inodes, or that a quota is exhausted. */
export function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(systemErrorCode(error) ?? "");
}

/** Returns a message that the folder of games and saves is not writable, with the error and its remedy. */
export function describeUnwritableRoot(root: string, error: unknown): string {
  // The agent runs as root, so file modes cannot be the cause.
  const remedy =
    systemErrorCode(error) === "EACCES"
      ? "If the node enforces SELinux, label the folder and set nodeAgent.seLinuxOptions (see docs/install.md). Otherwise repair the disk, or set gameNodes.root to a folder on another disk."
      : "Repair the disk, or set gameNodes.root to a folder on another disk.";
  return `${root} is not writable: ${messageOf(error)}. ${remedy}`;
}

/** Makes the entries of a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
