import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Returns the version's section of the changelog: the subjects of the commits since the last tag that is no
 * tag of this commit, the newest first.
 */
export async function changelogSection(root: string, version: string, day: string): Promise<string> {
  const git = async (...args: string[]): Promise<string> =>
    (await run("git", args, { cwd: root, maxBuffer: 16 * 2 ** 20 })).stdout.trim();
  const last = await git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^").catch(() => "");
  const range = last === "" ? "HEAD" : `${last}..HEAD`;
  const commits = await git("log", "--no-merges", "--format=- %s (%h)", range);
  const since = last === "" ? "All commits, as no earlier version has a tag." : `Commits since ${last}.`;
  return `# ${version} (${day})\n\n${since}\n\n${commits}\n`;
}
