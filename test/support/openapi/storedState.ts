import { createHash } from "node:crypto";
import type { TestApi } from "../http/api.ts";

/** Tables whose rows requests may touch just by being made: who was last seen, who tried what. */
const bookkeeping = new Set([
  "audit_events",
  "auth_sessions",
  "idempotency_keys",
  "partner_keys",
  "_prisma_migrations",
]);

/**
 * A digest of every row that means something, by table: two of them are equal when nothing was changed
 * between.
 */
export async function stateOf(api: TestApi): Promise<Record<string, string>> {
  const tables = Object.entries(await rowsOf(api)).filter(([name]) => !bookkeeping.has(name));
  return Object.fromEntries(
    tables.map(([name, rows]) => [name, createHash("sha256").update(rows.join("\n")).digest("hex")]),
  );
}

/** All that Postgres and Redis keep, as text, for the proof that something is not among it. */
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

/** Every table's rows, as text. */
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
