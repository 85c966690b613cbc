import { join } from "node:path";
import { build } from "vite";
import { isBuiltOf } from "../processes/builtFile.ts";
import { repositoryRoot } from "../processes/programs.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";

let built: Promise<string> | undefined;

/**
 * Returns the folder of the current web app, the API's WEB_ROOT. Uses the existing build (of `make test`) if
 * it is up to date, otherwise builds once for all tests.
 */
export function buildWeb(): Promise<string> {
  return (built ??= isBuiltOf("web/dist/index.html", ["web", "packages/contracts/src"])
    ? Promise.resolve(join(repositoryRoot, "web/dist"))
    : buildInto(temporaryFolder("web")));
}

async function buildInto(outDir: string): Promise<string> {
  await build({
    root: join(repositoryRoot, "web"),
    logLevel: "error",
    build: { outDir, emptyOutDir: true, reportCompressedSize: false },
  });
  return outDir;
}
