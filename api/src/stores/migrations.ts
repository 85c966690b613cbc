import { readFile, readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { migrationOf, recordBaseline, type Migration } from "./baseline.ts";
import { isDatabaseOutOfReach, isDatabaseUnavailable } from "./databaseFailure.ts";
import { jittered } from "#runtime/scheduling/backOff.ts";
import { messageOf } from "#runtime/errors.ts";

const migrationsDirectory = fileURLToPath(new URL("../../prisma/migrations", import.meta.url));
/** Arbitrary constant shared by all replicas. */
const advisoryLock = 7_264_010_331;
const lockTimeoutSeconds = 120;
const retryMs = 500;

/**
 * Migrates the database to the newest schema and returns the names of the applied migrations. Idempotent and
 * safe to run concurrently.
 */
export async function migrate(databaseUrl: string, directory = migrationsDirectory): Promise<string[]> {
  return withLock(databaseUrl, async (client) => {
    await requireExtension(client, "pg_trgm");
    return applyMissing(client, await readMigrations(directory));
  });
}

/**
 * Resolves once the database responds.
 *
 * @throws the last error after `seconds`, and permanent errors immediately
 */
export async function waitForDatabase(databaseUrl: string, seconds: number): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    try {
      await withClient(databaseUrl, (client) => client.query("SELECT 1"));
      return;
    } catch (error) {
      if (performance.now() >= deadline || !isDatabaseUnavailable(error) || isDatabaseOutOfReach(error))
        throw error;
    }
    await delay(jittered(retryMs, Math.random, 0.25));
  }
}

/** Prisma's own table, so that `prisma migrate` recognizes applied migrations. */
const createHistory = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ, migration_name VARCHAR(255) NOT NULL, logs TEXT,
  rolled_back_at TIMESTAMPTZ, started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

async function applyMissing(client: pg.Client, migrations: readonly Migration[]): Promise<string[]> {
  await requireOwnDatabase(client);
  await client.query(createHistory);
  const checksums = await readHistory(client);
  const [baseline] = migrations;
  if (baseline !== undefined && checksums.size > 0 && !checksums.has(baseline.name)) {
    await recordBaseline(client, baseline, [...checksums.keys()]);
    checksums.set(baseline.name, baseline.checksum);
  }
  const edited = migrations.filter(
    ({ name, checksum }) => checksums.has(name) && checksums.get(name) !== checksum,
  );
  if (edited.length > 0) {
    throw new Error(
      `these migrations were applied in a different form: ${namesOf(edited).join(", ")}; use the version of Joypod that created the database`,
    );
  }
  const missing = migrations.filter(({ name }) => !checksums.has(name));
  for (const migration of missing) await apply(client, migration);
  return namesOf(missing);
}

/** Tables without Joypod's migration history belong to another program. */
async function requireOwnDatabase(client: pg.Client): Promise<void> {
  const {
    rows: [found],
  } = await client.query<{ schema: string; isForeign: boolean }>(`SELECT current_schema() AS schema,
    to_regclass('_prisma_migrations') IS NULL AND EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema()) AS "isForeign"`);
  if (found?.isForeign === true)
    throw new Error(
      `the schema ${found.schema} of this database contains tables that are not Joypod's: give Joypod a separate database`,
    );
}

/** Returns the checksums of the applied migrations, by name. */
async function readHistory(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string }>(
    "SELECT migration_name AS name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL",
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/**
 * Runs a script and records it in one transaction, so that a failed migration leaves nothing behind and can
 * be retried.
 */
async function apply(client: pg.Client, { name, script, checksum }: Migration): Promise<void> {
  await client.query("BEGIN");
  await client.query(script).catch((error: unknown) => {
    throw new Error(`the migration ${name} failed and changed nothing: ${messageOf(error)}`, {
      cause: error,
    });
  });
  await client.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
    VALUES (gen_random_uuid(), $1, $2, now(), clock_timestamp(), 1)`,
    [checksum, name],
  );
  await client.query("COMMIT");
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return Promise.all(
    names.map(async (name) =>
      migrationOf(name, await readFile(join(directory, name, "migration.sql"), "utf8")),
    ),
  );
}

const namesOf = (migrations: readonly Migration[]): string[] => migrations.map(({ name }) => name);

/** Concurrent upgrades wait for each other. The lock ends with the connection. */
async function withLock<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return withClient(databaseUrl, async (client) => {
    await client.query(`SET lock_timeout = '${lockTimeoutSeconds}s'`);
    await client.query("SELECT pg_advisory_lock($1)", [advisoryLock]);
    return work(client);
  });
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined); // A lost connection also fails the running query, or the next one.
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
    throw new Error(
      `this Postgres does not have the extension ${name}: install the contrib modules of its version (Debian: the postgresql package includes them)`,
    );
  }
}
