import { readFile, readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { isDatabaseOutOfReach } from "./databaseFailure.ts";
import { isDatabaseUnavailable } from "./databaseUnavailable.ts";
import { createSchemaEngine, type SchemaEngine } from "./schemaEngine.ts";

const schemaFile = fileURLToPath(new URL("../../prisma/schema.prisma", import.meta.url));
const migrationsDirectory = fileURLToPath(new URL("../../prisma/migrations", import.meta.url));
/** Any constant: all copies of this program agree on it. */
const advisoryLock = 7_264_010_331;
const lockTimeoutSeconds = 120;
const retryMs = 500;
const noExternals = { externalTables: [], externalEnums: [] };

/** Brings the database to the newest schema and returns the names of the migrations that were missing. Safe to run at any time, by several at once. */
export async function migrate(databaseUrl: string): Promise<string[]> {
  return withLock(databaseUrl, async (client) => {
    await requireExtension(client, "pg_trgm");
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    const engine = await createSchemaEngine(pool, await readFile(schemaFile, "utf8"));
    try {
      return await applyMissing(engine);
    } finally {
      engine.free();
      await pool.end();
    }
  });
}

/** Resolves once the database answers; throws its error when it still does not after `seconds`, and at once what waiting cannot mend. */
export async function waitForDatabase(databaseUrl: string, seconds: number): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    try {
      await withClient(databaseUrl, (client) => client.query("SELECT 1"));
      return;
    } catch (error) {
      if (performance.now() >= deadline || !isDatabaseUnavailable(error) || isDatabaseOutOfReach(error)) throw error;
    }
    await delay(retryMs * (0.75 + Math.random() / 2));
  }
}

type MigrationList = Parameters<SchemaEngine["applyMigrations"]>[0]["migrationsList"];

async function applyMissing(engine: SchemaEngine): Promise<string[]> {
  const migrationsList = await readMigrations();
  const history = await engine.diagnoseMigrationHistory({ migrationsList, optInToShadowDatabase: false, filters: noExternals });
  if (history.editedMigrationNames.length > 0) {
    throw new Error(`these migrations were applied in another form: ${history.editedMigrationNames.join(", ")}; use the version of Joypod that made the database`);
  }
  // Each file runs as one transaction, so a failed one left nothing behind and may simply run again.
  for (const migrationName of history.failedMigrationNames) await engine.markMigrationRolledBack({ migrationName });
  const { appliedMigrationNames } = await engine.applyMigrations({ migrationsList, filters: noExternals });
  return appliedMigrationNames;
}

async function readMigrations(): Promise<MigrationList> {
  const entries = await readdir(migrationsDirectory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
  return {
    baseDir: migrationsDirectory,
    lockfile: { path: "migration_lock.toml", content: await readFile(join(migrationsDirectory, "migration_lock.toml"), "utf8") },
    shadowDbInitScript: "",
    migrationDirectories: await Promise.all(names.map(async (name) => ({
      path: name,
      migrationFile: {
        path: "migration.sql",
        content: { tag: "ok" as const, value: await readFile(join(migrationsDirectory, name, "migration.sql"), "utf8") },
      },
    }))),
  };
}

/** Two upgrades at once wait for each other; the lock falls with the connection. */
async function withLock<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient(databaseUrl, async (client) => {
    await client.query(`SET lock_timeout = '${lockTimeoutSeconds}s'`);
    await client.query("SELECT pg_advisory_lock($1)", [advisoryLock]);
    return work(client);
  });
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined); // A lost connection also fails the query that runs, or the next one.
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function requireExtension(client: pg.Client, name: string): Promise<void> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_available_extensions WHERE name = $1", [name]);
  if (rowCount === 0) {
    throw new Error(`this Postgres has no extension ${name}: install the contrib modules of its version (Debian: the postgresql package has them)`);
  }
}
