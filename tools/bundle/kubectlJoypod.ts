// Bundles `kubectl joypod` with its packages into one file, kubectl/dist/kubectl-joypod, which needs only
// Node.js 24. kubectl runs it if it is in the PATH, and kubectl_complete-joypod next to it for completion. An
// optional argument is another target folder.
import { chmod, copyFile, mkdtemp, rename, rm, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "../..");
const folder = resolve(process.argv[2] ?? join(root, "kubectl/dist"));
const name = "kubectl-joypod";
const completion = "kubectl_complete-joypod";
/** Runs before the bundled code, whose syntax an older Node.js may not support. */
const banner = `#!/usr/bin/env node
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(\`kubectl joypod needs Node.js 24 or later, but this is \${process.versions.node}.\`);
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
      // The package's index imports thousands of models, but only its kubeconfig reader is used.
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
await copyFile(join(root, "kubectl/bin", completion), join(folder, completion));
await rm(parts, { recursive: true });
