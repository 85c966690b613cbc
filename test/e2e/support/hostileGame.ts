import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gameArchive, publishGame } from "./games.ts";

const run = promisify(execFile);

/** Acts of games/hostile, described in its README. */
export type HostileAct =
  | "sockets"
  | "tricks"
  | "emulations"
  | "report"
  | "deep"
  | "names"
  | "links"
  | "odd"
  | "moving"
  | "fill"
  | "swap"
  | "forkbomb"
  | "spin"
  | "memory"
  | "shm"
  | "output";

/** Publishes the hostile game for each act under unique names, and returns the slugs. */
export async function publishHostile<Act extends HostileAct>(...acts: Act[]): Promise<Record<Act, string>> {
  const archive = await gameArchive("hostile");
  const pairs = await Promise.all(acts.map(async (act) => [act, await publishAct(act, archive)] as const));
  return Object.fromEntries(pairs) as Record<Act, string>;
}

/** Publishes the act `sockets` with the addresses (HOST:PORT) that it tries to reach. Returns the slug. */
export async function publishSockets(targets: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "joypod-hostile-"));
  try {
    const [tree, archive] = [join(folder, "tree"), join(folder, "hostile.tar.gz")];
    await run("sh", ["-c", 'mkdir "$1" && tar -C "$1" -xzf "$2"', "sh", tree, await gameArchive("hostile")]);
    await writeFile(join(tree, "engine/targets.txt"), targets.map((target) => `${target}\n`).join(""));
    await run("sh", [
      "-c",
      'cd "$1" && tar --format=ustar --owner=0 --group=0 -czf "$2" *',
      "sh",
      tree,
      archive,
    ]);
    return await publishAct("sockets", archive);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function publishAct(act: HostileAct, archive: string): Promise<string> {
  const id = randomBytes(3).toString("hex");
  const slug = `hostile-${act}-${id}`;
  await publishGame("hostile", { slug, title: `Hostile ${act} ${id}`, launcher: `${act}.sh` }, archive);
  return slug;
}
