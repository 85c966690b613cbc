// Bundles api, operator, node-agent, the chart's jobs and the `joypod` command line into api/dist/programs
// for the control plane's image. Bundling removes TypeScript and tens of megabytes of unused packages, which
// would cost memory and startup time.
import { join } from "node:path";
import { build } from "vite";

const root = join(import.meta.dirname, "../..");

await build({
  root,
  configFile: false,
  logLevel: "warn",
  ssr: { noExternal: true, external: ["pg-native"] },
  build: {
    ssr: true,
    target: "node24",
    // The same depth as the source, which finds api/prisma by a relative path.
    outDir: "api/dist/programs",
    emptyOutDir: true,
    // Keeps stack traces readable without source maps, which would need more memory than minifying saves.
    minify: false,
    rolldownOptions: {
      input: {
        api: "api/src/main.ts",
        passwordWorker: "api/src/auth/passwordWorker.ts",
        joypod: "api/src/cli/cli.ts",
        makeSecrets: "api/src/installation/secrets/main.ts",
        giveStoreKeys: "api/src/installation/storeKeys/main.ts",
        operator: "operator/src/main.ts",
        nodeAgent: "node-agent/src/main.ts",
        networkProbe: "operator/src/networkProbe/main.ts",
        networkTest: "operator/src/networkTest/main.ts",
        nodeTest: "operator/src/nodeTest/main.ts",
        drain: "operator/src/drain/main.ts",
      },
      // The package's index imports thousands of models, but only its kubeconfig reader is used.
      treeshake: {
        moduleSideEffects: [{ test: /\/node_modules\/@kubernetes\/client-node\//, sideEffects: false }],
      },
      checks: { eval: false },
      output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js", comments: false },
    },
  },
});
