import { mkdir, readdir, rename } from "node:fs/promises";

/** Moves what is in a folder of few names into a new one, and leaves the folder. Of a move that was cut off, `last` is still where it was. */
export async function moveContents(from: string, to: string, last: string): Promise<void> {
  await mkdir(to, { mode: 0o700 });
  const names = await readdir(from);
  const ordered = [...names.filter((name) => name !== last), ...names.filter((name) => name === last)];
  for (const name of ordered) await rename(`${from}/${name}`, `${to}/${name}`);
}
