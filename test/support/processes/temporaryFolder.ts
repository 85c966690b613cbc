import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders = new Set<string>();

/** Makes a fresh folder, which goes with all that is in it when this process ends; returns its path. */
export function temporaryFolder(purpose: string): string {
  // One listener, however many there are.
  if (folders.size === 0)
    process.once("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));
  const folder = mkdtempSync(join(tmpdir(), `joypod-${purpose}-`));
  folders.add(folder);
  return folder;
}
