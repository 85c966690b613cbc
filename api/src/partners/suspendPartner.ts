import { notFound } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import { updatePartnerSuspended } from "./partnerQueries.ts";

/** What changing a partner's suspension needs. */
export interface SuspendPartnerDeps {
  postgres: Postgres;
  audit: Audit;
}

/** A partner after the change; `suspendedAt` is null for a partner who is not suspended. */
export interface SuspendedPartner {
  id: string;
  name: string;
  suspendedAt: string | null;
}

/**
 * Refuses every request of the partner (by name or id) from now on; the games stay as they are. Throws
 * not_found.
 */
export async function suspendPartner(
  deps: SuspendPartnerDeps,
  partnerNameOrId: string,
): Promise<SuspendedPartner> {
  return setSuspended(deps, partnerNameOrId, true);
}

/** Lifts a suspension; keys that have not expired meanwhile work again. Throws not_found. */
export async function resumePartner(
  deps: SuspendPartnerDeps,
  partnerNameOrId: string,
): Promise<SuspendedPartner> {
  return setSuspended(deps, partnerNameOrId, false);
}

async function setSuspended(
  { postgres, audit }: SuspendPartnerDeps,
  partnerNameOrId: string,
  isSuspended: boolean,
): Promise<SuspendedPartner> {
  const partner = await updatePartnerSuspended(postgres.pool, partnerNameOrId, isSuspended);
  if (partner === undefined) throw notFound(`There is no partner ${partnerNameOrId}.`);
  const { id, name, suspendedAt, isChanged } = partner;
  if (isChanged) {
    await audit.record({
      action: isSuspended ? "partner.suspended" : "partner.resumed",
      actor: { kind: "operator" },
      subject: { kind: "partner", id },
    });
  }
  return { id, name, suspendedAt: suspendedAt?.toISOString() ?? null };
}
