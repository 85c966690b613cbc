// Bundles `joypod-publish` with its packages into an npm package without dependencies, packages/publish/dist,
// which runs on Node.js 20. With an argument, the package is also packed into that folder, as
// joypod-publish-VERSION.tgz.
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { build, type Rolldown } from "vite";
import { thirdPartyNotices } from "../release/notices.ts";
import { projectVersion } from "../release/version.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const folder = join(root, "packages/publish/dist");
const name = "joypod-publish";
const version = projectVersion(root);
/** The folder that holds npm packages, in the path of a module. */
const packages = `${sep}node_modules${sep}`;
const [target] = process.argv.slice(2);
/** Runs before the bundled code, whose syntax an older Node.js may not support. */
const banner = `#!/usr/bin/env node
if (Number(process.versions.node.split(".")[0]) < 20) {
  console.error(\`joypod-publish needs Node.js 20 or later, but this is \${process.versions.node}.\`);
  process.exit(1);
}`;

const output = await build({
  root,
  configFile: false,
  logLevel: "warn",
  define: { joypodVersion: JSON.stringify(version) },
  ssr: { noExternal: true },
  build: {
    ssr: true,
    target: "node20",
    outDir: folder,
    emptyOutDir: true,
    minify: false,
    rolldownOptions: {
      input: { [name]: "packages/publish/src/main.ts" },
      output: { entryFileNames: "[name].js", codeSplitting: false, banner, comments: false },
    },
  },
});
await chmod(join(folder, `${name}.js`), 0o755);
const manifest = JSON.parse(
  await readFile(join(root, "packages/publish/npm/package.json"), "utf8"),
) as object;
const { GITHUB_SERVER_URL: forge, GITHUB_REPOSITORY: path } = process.env;
// npm accepts provenance only if the package names the repository that built it.
const repository = path === undefined ? {} : { repository: { type: "git", url: `git+${forge}/${path}.git` } };
await writeFile(
  join(folder, "package.json"),
  `${JSON.stringify({ ...manifest, version, ...repository }, undefined, 2)}\n`,
);
await cp(join(root, "packages/publish/npm/README.md"), join(folder, "README.md"));
await cp(join(root, "LICENSE"), join(folder, "LICENSE"));
await writeFile(join(folder, "THIRD-PARTY-NOTICES.txt"), await noticesOf(output));
if (target !== undefined) {
  await mkdir(target, { recursive: true });
  await run("npm", ["pack", "--silent", "--pack-destination", resolve(target)], { cwd: folder });
}

/** Returns the licences of the packages whose code is in the bundle. */
async function noticesOf(built: Awaited<ReturnType<typeof build>>): Promise<string> {
  const outputs = [built].flat().flatMap((one) => ("output" in one ? [...one.output] : []));
  const modules = outputs.flatMap((chunk: Rolldown.OutputChunk | Rolldown.OutputAsset) =>
    chunk.type === "chunk" ? chunk.moduleIds : [],
  );
  const folders = new Set(modules.map(packageFolderOf).filter((found) => found !== undefined));
  const components = [];
  for (const folder of folders) {
    const text = await readFile(join(folder, "package.json"), "utf8");
    const { name, version } = JSON.parse(text) as { name: string; version: string };
    components.push({ name, version, purl: `pkg:npm/${name}@${version}` });
  }
  return thirdPartyNotices(components, { npm: [...folders].map(parentOf), go: "" });
}

/** Returns the folder of a module's npm package; undefined for our own code. */
function packageFolderOf(module: string): string | undefined {
  const start = module.lastIndexOf(packages) + packages.length;
  if (start < packages.length) return undefined;
  const path = module.slice(start).split(sep);
  return module.slice(0, start) + path.slice(0, path[0]?.startsWith("@") === true ? 2 : 1).join(sep);
}

/** Returns the folder `node_modules` that holds a package. */
function parentOf(folder: string): string {
  return folder.slice(0, folder.lastIndexOf(packages) + packages.length);
}
