// Bundles api, operator, node-agent, the chart's jobs, the packer of a single folder and the `joypod` command
// line into api/dist/programs, as their image runs them: with neither TypeScript nor the tens of megabytes of
// packages that are imported and never used, which a process would hold in memory and read at its start.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Plugin } from "vite";

const root = join(import.meta.dirname, "../..");

/**
 * V8 keeps the text of all code, and two bytes for each character where a single one is beyond Latin-1, or
 * beyond ASCII in a large file: those are escaped.
 */
const asciiText: Plugin = {
  name: "ascii-text",
  generateBundle: (_, bundle) => {
    for (const file of Object.values(bundle)) {
      if (file.type === "chunk")
        file.code = file.code.replace(
          /[\u0080-\uffff]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        );
    }
  },
};

/**
 * Prisma's query compiler stands in a module as base64, which stays in memory twice: here it becomes a file
 * that is read when it is asked for.
 */
const queryCompilerFile: Plugin = {
  name: "query-compiler-file",
  load: {
    filter: { id: /query_compiler_.*\.wasm-base64\.mjs$/ },
    async handler(id) {
      const [, base64] = /^const wasm = "(.*)"/m.exec(await readFile(id, "utf8")) ?? [];
      if (base64 === undefined)
        throw new Error(`${id} does not look as it used to: it should hold the query compiler in \`wasm\`.`);
      this.emitFile({ type: "asset", fileName: "queryCompiler.wasm", source: Buffer.from(base64, "base64") });
      // Prisma makes a buffer of it, and `Buffer.from` takes what `valueOf` gives.
      return `import { readFileSync } from "node:fs";
        export const wasm = { valueOf: () => readFileSync(import.meta.dirname + "/queryCompiler.wasm") };`;
    },
  },
};

await build({
  root,
  configFile: false,
  logLevel: "warn",
  plugins: [asciiText, queryCompilerFile],
  ssr: { noExternal: true, external: ["pg-native"] },
  build: {
    ssr: true,
    ssrEmitAssets: true,
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
        packer: "session/packer/src/packOnce.ts",
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
