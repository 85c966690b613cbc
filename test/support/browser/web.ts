import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { repositoryRoot } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

let built: Promise<string> | undefined;

/** Returns the folder of the web app as it is now, the WEB_ROOT of an API: what is built (`make test` builds it) where that is of the sources as they are, else it is built once for all tests. */
export function buildWeb(): Promise<string> {
  const dist = join(repositoryRoot, "web/dist");
  const builtAt = statSync(join(dist, "index.html"), { throwIfNoEntry: false })?.mtimeMs;
  const isCurrent = builtAt !== undefined && [...sources("web"), ...sources("contracts/src")].every((file) => statSync(file).mtimeMs <= builtAt);
  return built ??= isCurrent ? Promise.resolve(dist) : buildInto(temporaryFolder("web"));
}

function sources(folder: string): string[] {
  return readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name)).filter((file) => !file.startsWith(join(repositoryRoot, "web/dist")));
}

async function buildInto(outDir: string): Promise<string> {
  await build({ root: join(repositoryRoot, "web"), logLevel: "error", build: { outDir, emptyOutDir: true, reportCompressedSize: false } });
  return outDir;
}
