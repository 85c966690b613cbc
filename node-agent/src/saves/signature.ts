import { createHash } from "node:crypto";
import { walkSave } from "./saveTree.ts";

/** A cheap fingerprint of a save directory: names, sizes and times, no content. Equal means unchanged. Throws SaveTooLarge. */
export async function signSave(directory: string, signal: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await walkSave(directory, {
    signal,
    onSkip: () => undefined,
    visit: ({ path, stat, file }) => {
      // A directory's own time says no more than the names in it do.
      hash.update(JSON.stringify(file === undefined ? [path] : [path, String(stat.size), String(stat.mtimeNs), String(stat.mode)]));
      return Promise.resolve();
    },
  });
  return hash.digest("hex");
}
