import { createHash } from "node:crypto";
import type { TestApi } from "../http/api.ts";

/** Tables that any request may change: last-seen times and attempts. */
const bookkeeping = new Set([
  "audit_events",
  "auth_sessions",
  "idempotency_keys",
  "partner_keys",
  "_prisma_migrations",
]);

/** Returns a digest of all significant rows by table. Two digests are equal if nothing has changed. */
export async function stateOf(api: TestApi): Promise<Record<string, string>> {
  const tables = Object.entries(await rowsOf(api)).filter(([name]) => !bookkeeping.has(name));
  return Object.fromEntries(
    tables.map(([name, rows]) => [name, createHash("sha256").update(rows.join("\n")).digest("hex")]),
  );
}

/** Returns everything in Postgres and Redis as text, to check that something is not stored. */
export async function everythingStored(api: TestApi): Promise<string> {
  const { redis } = api.deps;
  const kept = await Promise.all(
    (await redis.keys("*")).map(async (key) => [
      key,
      await ((await redis.type(key)) === "hash" ? redis.hgetall(key) : redis.get(key)),
    ]),
  );
  return JSON.stringify([await rowsOf(api), kept]);
}

/** Returns every table's rows as text. */
export async function rowsOf({ deps }: TestApi): Promise<Record<string, string[]>> {
  const { pool } = deps.postgres;
  const { rows: tables } = await pool.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
  );
  const rowsByTable: Record<string, string[]> = {};
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM "${name}" t ORDER BY 1`);
    rowsByTable[name] = rows.map(({ row }) => row);
  }
  return rowsByTable;
}
