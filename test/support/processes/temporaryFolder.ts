import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders = new Set<string>();

/** Creates a folder that is removed with its contents when this process exits. Returns its path. */
export function temporaryFolder(purpose: string): string {
  // A single listener for all folders.
  if (folders.size === 0)
    process.once("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
  const folder = mkdtempSync(join(tmpdir(), `joypod-${purpose}-`));
  folders.add(folder);
  return folder;
}
