import { systemErrorCode, messageOf } from "#runtime/errors.ts";

/**
 * Returns in a sentence or two that the folder of games and saves cannot be written to, what the error says
 * of it, and what mends that.
 */
export function unwritableRoot(root: string, error: unknown): string {
  // The agent is root, whom no file mode keeps out.
  const remedy =
    systemErrorCode(error) === "EACCES"
      ? "Where the node enforces SELinux, label the folder and set nodeAgent.seLinuxOptions, as docs/install.md says; otherwise repair the disk, or name a folder of another one in gameNodes.root."
      : "Repair the disk, or name a folder of another one in gameNodes.root.";
  return `${root} cannot be written to: ${messageOf(error)}. ${remedy}`;
}
