import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { PrismaPg } from "@prisma/adapter-pg";
import {
  bindMigrationAwareSqlAdapterFactory, DriverAdapterError, type SqlMigrationAwareDriverAdapterFactory,
} from "@prisma/driver-adapter-utils";
import * as bindings from "@prisma/schema-engine-wasm/schema_engine_bg";
import pg from "pg";

export type SchemaEngine = bindings.SchemaEngine;

/** Prisma's schema engine as WebAssembly: the native one would have to be downloaded. Call `free()` when done. */
export async function createSchemaEngine(pool: pg.Pool, datamodel: string): Promise<SchemaEngine> {
  await instantiate();
  const adapter = bindMigrationAwareSqlAdapterFactory(withWholeScripts(new PrismaPg(pool)));
  return bindings.SchemaEngine.new({ datamodels: [["schema.prisma", datamodel]] }, ignoreEngineLog, adapter);
}

/**
 * The stock adapter cuts a script at every semicolon, in function bodies too, and runs the pieces one by one. Sent whole, a script
 * is one implicit transaction: it applies entirely or not at all.
 */
function withWholeScripts(factory: PrismaPg): SqlMigrationAwareDriverAdapterFactory {
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connectToShadowDb: () => factory.connectToShadowDb(),
    connect: async () => {
      const adapter = await factory.connect();
      adapter.executeScript = async (script) => {
        await adapter.underlyingDriver().query(script).catch(rethrowDatabaseError);
      };
      return adapter;
    },
  };
}

/** The engine shows only errors of its own shape in full. */
function rethrowDatabaseError(error: unknown): never {
  if (!(error instanceof pg.DatabaseError)) throw error;
  throw new DriverAdapterError({
    kind: "postgres",
    code: error.code ?? "XX000",
    severity: error.severity ?? "ERROR",
    message: error.message,
    detail: error.detail,
    column: error.column,
    hint: error.hint,
  });
}

let instantiated: Promise<void> | undefined;

/** The bindings hold one WebAssembly instance for the process. */
function instantiate(): Promise<void> {
  instantiated ??= load();
  return instantiated;
}

async function load(): Promise<void> {
  const entry = createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm/schema_engine_bg");
  const bytes = await readFile(entry.replace(/\.js$/, ".wasm"));
  const imports = Object.entries(bindings).map(([name, value]) => [name, name.startsWith("__wbg_setTimeout_") ? setUnheldTimeout : value]);
  const { instance } = await WebAssembly.instantiate(bytes, { "./schema_engine_bg.js": Object.fromEntries(imports) as Record<string, unknown> });
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
}

/** The engine leaves timers of unused deadlines behind, which would keep a finished program alive for ten seconds. */
function setUnheldTimeout(callback: () => void, milliseconds: number): NodeJS.Timeout {
  return setTimeout(callback, milliseconds).unref();
}

/** The little of the standard interface that is used; Node's types leave it to the browser's. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: Record<string, Record<string, unknown>>): Promise<{
    instance: { exports: { __wbindgen_start(): void } };
  }>;
};

/** What matters also comes back as the result or the error. */
function ignoreEngineLog(): void {
  return undefined;
}
