import { join } from "node:path";
import { build } from "vite";
import { repositoryRoot } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

let built: Promise<string> | undefined;

/** Builds the web app as it is now, once for all tests, and returns its folder: the WEB_ROOT of an API. */
export function buildWeb(): Promise<string> {
  return built ??= buildInto(temporaryFolder("web"));
}

async function buildInto(outDir: string): Promise<string> {
  await build({ root: join(repositoryRoot, "web"), logLevel: "error", build: { outDir, emptyOutDir: true, reportCompressedSize: false } });
  return outDir;
}
