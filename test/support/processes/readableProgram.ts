import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repositoryRoot } from "./programs.ts";

/** Paths of Node and a program of the repository that another user can read. */
export interface ReadableProgram {
  node: string;
  program: string;
}

const bundle = `
import { build } from "vite";
const [entry, outDir] = process.argv.slice(1);
await build({
  configFile: false, logLevel: "warn", ssr: { noExternal: true },
  build: { ssr: entry, outDir, target: "node24", minify: false, rolldownOptions: { output: { entryFileNames: "program.mjs", codeSplitting: false } } },
});`;

/**
 * Returns the program if that user may read it, as in most clones. Otherwise returns a bundled copy, which is
 * removed when this process exits.
 */
export function readableProgram(path: string, uid: number): ReadableProgram {
  const there = { node: process.execPath, program: join(repositoryRoot, path) };
  const look = spawnSync(
    there.node,
    ["-e", "require('node:fs').readFileSync(process.argv[1])", there.program],
    { uid, gid: uid, cwd: "/", stdio: "ignore" },
  );
  return look.status === 0 ? there : copyOf(there);
}

function copyOf({ node, program }: ReadableProgram): ReadableProgram {
  const folder = mkdtempSync(join(tmpdir(), "joypod-program-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  copyFileSync(node, join(folder, "node"));
  execFileSync(node, ["--input-type=module", "--eval", bundle, program, folder], {
    cwd: repositoryRoot,
    stdio: ["ignore", "inherit", "inherit"],
  });
  return { node: join(folder, "node"), program: join(folder, "program.mjs") };
}
