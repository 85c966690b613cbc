// Bundles api, operator, node-agent, the chart's jobs and the `joypod` command
// line into api/dist/programs, as their image runs them: with neither TypeScript nor the tens of megabytes of
// packages that are imported and never used, which a process would hold in memory and read at its start.
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
    // As deep as the source, which looks for api/prisma from there.
    outDir: "api/dist/programs",
    emptyOutDir: true,
    // Stack traces stay readable without maps, whose reading would cost more memory than short names save.
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
      // Its index imports thousands of models; we use the reader of kubeconfigs.
      treeshake: {
        moduleSideEffects: [{ test: /\/node_modules\/@kubernetes\/client-node\//, sideEffects: false }],
      },
      checks: { eval: false },
      output: { entryFileNames: "[name].js", chunkFileNames: "[name]-[hash].js", comments: false },
    },
  },
});
