import { createHash } from "node:crypto";
import type { TestApi } from "../api.ts";

/** Tables whose rows requests may touch just by being made: who was last seen, who tried what. */
const bookkeeping = new Set(["audit_events", "auth_sessions", "idempotency_keys", "partner_keys", "_prisma_migrations"]);

/** A digest of every row that means something, by table: two of them are equal when nothing was changed between. */
export async function stateOf({ deps }: TestApi): Promise<Record<string, string>> {
  const { pool } = deps.postgres;
  const { rows: tables } = await pool.query<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename");
  const state: Record<string, string> = {};
  for (const { name } of tables.filter((table) => !bookkeeping.has(table.name))) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM "${name}" t ORDER BY 1`);
    state[name] = createHash("sha256").update(rows.map(({ row }) => row).join("\n")).digest("hex");
  }
  return state;
}
