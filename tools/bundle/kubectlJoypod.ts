// Bundles `kubectl joypod` with its packages into one file, kubectl/dist/kubectl-joypod, which runs wherever
// Node.js 24 does and kubectl finds it in the PATH. An argument names another folder for it.
import { chmod, mkdtemp, rename, rm, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "../..");
const folder = resolve(process.argv[2] ?? join(root, "kubectl/dist"));
const name = "kubectl-joypod";
/** Before all of the code, some of which an older Node has no words for. */
const banner = `#!/usr/bin/env node
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(\`kubectl joypod needs Node.js 24 or later; this is \${process.versions.node}.\`);
  process.exit(1);
}`;

await mkdir(folder, { recursive: true });
const parts = await mkdtemp(join(folder, ".bundle-"));
await build({
  root,
  configFile: false,
  logLevel: "warn",
  ssr: { noExternal: true },
  build: {
    ssr: true,
    target: "node24",
    outDir: parts,
    emptyOutDir: true,
    minify: false,
    rolldownOptions: {
      input: { [name]: "kubectl/src/main.ts" },
      // Its index imports thousands of models; we use the reader of kubeconfigs.
      treeshake: {
        moduleSideEffects: [{ test: /\/node_modules\/@kubernetes\/client-node\//, sideEffects: false }],
      },
      checks: { eval: false },
      output: { entryFileNames: "[name]", codeSplitting: false, banner, comments: false },
    },
  },
});
await chmod(join(parts, name), 0o755);
await rename(join(parts, name), join(folder, name));
await rm(parts, { recursive: true });
