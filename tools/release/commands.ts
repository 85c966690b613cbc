import { chmod, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

/** A command line in one file: its entry point among the bundled programs, and the other files it needs. */
export interface CommandRow {
  name: string;
  entry: string;
  files: string[];
}

/** The command lines of a release. */
export const commandTable: readonly CommandRow[] = [
  {
    name: "joypod",
    entry: "joypod.js",
    files: ["api/dist/programs/passwordWorker.js", "api/prisma"],
  },
];

const programs = "api/dist/programs";

/**
 * Writes the command as one executable file that needs only Node 24. Threads, WebAssembly and migrations must
 * be files, so the first start unpacks the compressed contents into the user's cache.
 */
export async function packCommand(
  root: string,
  folder: string,
  { name, entry, files }: CommandRow,
  version: string,
): Promise<string> {
  const paths = new Set(await withImports(root, join(programs, entry)));
  for (const file of files)
    for (const path of await below(root, file))
      for (const one of await withImports(root, path)) paths.add(one);
  const contents: Record<string, string> = {};
  for (const path of [...paths].sort())
    contents[path] = (await readFile(join(root, path))).toString("base64");
  const packed = brotliCompressSync(JSON.stringify(contents), {
    params: { [constants.BROTLI_PARAM_QUALITY]: 9 },
  });
  const starter = await readFile(join(import.meta.dirname, "starter.js"), "utf8");
  const target = join(folder, name);
  await writeFile(
    target,
    starter
      .replaceAll("@NAME@", name)
      .replace("@VERSION@", version)
      .replace("@ENTRY@", join(programs, entry))
      .replace("@CONTENTS@", packed.toString("base64")),
  );
  await chmod(target, 0o755);
  return target;
}

/** Returns the file and all bundled files that it imports, directly or indirectly. */
async function withImports(root: string, path: string, seen = new Set<string>()): Promise<string[]> {
  if (seen.has(path)) return [];
  seen.add(path);
  if (path.startsWith(`${programs}/`) && path.endsWith(".js")) {
    const code = await readFile(join(root, path), "utf8");
    for (const [, imported = ""] of code.matchAll(/(?:from|import) ?\(?"(\.\/[^"]+\.js)"/g))
      await withImports(root, join(dirname(path), imported), seen);
  }
  return [...seen];
}

async function below(root: string, path: string): Promise<string[]> {
  const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true }).catch(
    () => undefined,
  );
  if (entries === undefined) return [path];
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}
