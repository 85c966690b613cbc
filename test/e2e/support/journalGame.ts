import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gameArchive, publishGame } from "./games.ts";

const run = promisify(execFile);

const launcher = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
echo played >>"$HOME/journal"
exec "$here/engine/testcard"
`;

/**
 * Publishes the test card with a launcher that adds a line to the file `journal` of its save. Returns the
 * slug.
 */
export async function publishJournal(): Promise<string> {
  const id = randomBytes(3).toString("hex");
  const slug = `journal-${id}`;
  const folder = await mkdtemp(join(tmpdir(), "joypod-journal-"));
  try {
    const [tree, archive] = [join(folder, "tree"), join(folder, "journal.tar.gz")];
    await run("sh", ["-c", 'mkdir "$1" && tar -C "$1" -xzf "$2"', "sh", tree, await gameArchive("testcard")]);
    await writeFile(join(tree, "journal.sh"), launcher, { mode: 0o755 });
    await run("sh", [
      "-c",
      'cd "$1" && tar --format=ustar --owner=0 --group=0 -czf "$2" *',
      "sh",
      tree,
      archive,
    ]);
    await publishGame("testcard", { slug, title: `Journal ${id}`, launcher: "journal.sh" }, archive);
  } finally {
    await rm(folder, { recursive: true });
  }
  return slug;
}
