// Bundles `kubectl joypod` with its packages into one file, kubectl/dist/kubectl-joypod, which runs wherever Node.js 24 does and kubectl finds it in
// the PATH. An argument names another folder for it.
import { chmod, mkdtemp, rename, rm, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "../..");
const folder = resolve(process.argv[2] ?? join(root, "kubectl/dist"));
const name = "kubectl-joypod";

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
    minify: false,
    rolldownOptions: {
      input: { [name]: "kubectl/src/main.ts" },
      // Its index imports thousands of models; we use the reader of kubeconfigs.
      treeshake: { moduleSideEffects: [{ test: /\/node_modules\/@kubernetes\/client-node\//, sideEffects: false }] },
      checks: { eval: false },
      output: { entryFileNames: "[name]", codeSplitting: false, banner: "#!/usr/bin/env node", comments: false },
    },
  },
});
await chmod(join(parts, name), 0o755);
await rename(join(parts, name), join(folder, name));
await rm(parts, { recursive: true });
