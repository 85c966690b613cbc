import { notFound } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";

interface Stores {
  postgres: Postgres;
  audit: Audit;
}

/** A partner after the change; `suspendedAt` is null for one who may go on. */
export interface SuspendedPartner {
  id: string;
  name: string;
  suspendedAt: string | null;
}

/** Refuses every request of the partner (by name or id) from now on; the games stay as they are. Again changes nothing. */
export async function suspendPartner(stores: Stores, partnerNameOrId: string): Promise<SuspendedPartner> {
  return setSuspended(stores, partnerNameOrId, true);
}

/** Takes a suspension back; keys that have not expired meanwhile work again. */
export async function resumePartner(stores: Stores, partnerNameOrId: string): Promise<SuspendedPartner> {
  return setSuspended(stores, partnerNameOrId, false);
}

async function setSuspended({ postgres, audit }: Stores, partnerNameOrId: string, isSuspended: boolean): Promise<SuspendedPartner> {
  const { rows: [row] } = await postgres.pool.query<{ id: string; name: string; suspended_at: Date | null; is_new: boolean }>(
    `WITH before AS (SELECT id, suspended_at FROM partners WHERE name = $1 OR id = $1 ORDER BY id = $1 DESC LIMIT 1 FOR UPDATE)
     UPDATE partners SET suspended_at = CASE WHEN $2 THEN coalesce(partners.suspended_at, now()) END FROM before
     WHERE partners.id = before.id
     RETURNING partners.id, name, partners.suspended_at, (before.suspended_at IS NULL) = $2 AS is_new`,
    [partnerNameOrId, isSuspended],
  );
  if (row === undefined) throw notFound(`There is no partner ${partnerNameOrId}.`);
  if (row.is_new) {
    await audit.record({ action: isSuspended ? "partner.suspended" : "partner.resumed", actor: { kind: "operator" }, subject: { kind: "partner", id: row.id } });
  }
  return { id: row.id, name: row.name, suspendedAt: row.suspended_at?.toISOString() ?? null };
}
