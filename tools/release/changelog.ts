import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Returns the release notes of a version: its section of CHANGELOG.md, or the section "Unreleased" for a
 * version that has none yet.
 *
 * @param day Date of the release, as YYYY-MM-DD.
 * @throws Error if the changelog has neither section
 */
export async function changelogSection(root: string, version: string, day: string): Promise<string> {
  const text = await readFile(join(root, "CHANGELOG.md"), "utf8");
  const sections = text.split(/^## /m).slice(1);
  const section = [version, "Unreleased"]
    .map((name) => sections.find((candidate) => candidate.startsWith(`[${name}]`)))
    .find((found) => found !== undefined);
  if (section === undefined)
    throw new Error(
      `CHANGELOG.md has no section "## [${version}]". Add one, or a section "## [Unreleased]".`,
    );
  const body = section.slice(section.indexOf("\n")).trim();
  return `# ${version} (${day})\n\n${body === "" ? "No notable changes." : body}\n`;
}
