import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { publishGame } from "./games.ts";

const run = promisify(execFile);

/** Appends the session's id to the file `diary` in the save every second. */
const diary = 'while sleep 1; do uname -n >>"$HOME/diary"; done';

/**
 * The first launcher uses its whole grace period, so that the session stays in the stopping phase. The second
 * allocates all memory once /tmp/begin exists.
 */
const launchers = {
  "diary.sh": `#!/bin/sh\ntrap '' TERM\n${diary}\n`,
  "hungry.sh": `#!/bin/sh\n${diary} &\nuntil [ -e /tmp/begin ]; do sleep 1; done\nexec tail /dev/zero\n`,
};

/** Publishes a game without a window that writes a diary of its sessions to its save. Returns the slug. */
export async function publishDiary(launcher: keyof typeof launchers = "diary.sh"): Promise<string> {
  const id = randomBytes(3).toString("hex");
  const slug = `diary-${id}`;
  const folder = await mkdtemp(join(tmpdir(), "joypod-diary-"));
  try {
    const archive = join(folder, "diary.tar.gz");
    await mkdir(join(folder, "tree/engine"), { recursive: true });
    for (const [name, script] of Object.entries(launchers))
      await writeFile(join(folder, "tree", name), script, { mode: 0o755 });
    await writeFile(join(folder, "tree/engine/readme.txt"), "The launcher is the whole game.\n");
    await run("sh", [
      "-c",
      'cd "$1" && tar --format=ustar --owner=0 --group=0 -czf "$2" *',
      "sh",
      join(folder, "tree"),
      archive,
    ]);
    await publishGame(
      "testcard",
      { slug, title: `Diary ${id}`, launcher, resources: { memoryMb: 256, cpus: 0.25 } },
      archive,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
  return slug;
}
