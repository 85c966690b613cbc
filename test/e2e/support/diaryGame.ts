import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { publishGame } from "./games.ts";

const run = promisify(execFile);

/** The save's file that the launchers write their session's id into, a line every second. */
const diary = 'while sleep 1; do uname -n >>"$HOME/diary"; done';

/**
 * The first takes all the time to end that it is given, which keeps a session stopping for some seconds; the
 * second takes all memory when it finds /tmp/begin.
 */
const launchers = {
  "diary.sh": `#!/bin/sh\ntrap '' TERM\n${diary}\n`,
  "hungry.sh": `#!/bin/sh\n${diary} &\nuntil [ -e /tmp/begin ]; do sleep 1; done\nexec tail /dev/zero\n`,
};

/** Publishes a game without a window that keeps a diary of its sessions in its save; returns the slug. */
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
