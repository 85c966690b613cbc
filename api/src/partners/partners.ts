import { limits } from "#contracts/limits.ts";
import { DomainError, invalidRequest, notFound } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import { findPartnerId, insertPartner, updatePartnerSuspended } from "./partnerQueries.ts";

/**
 * Creates a partner without a key.
 *
 * @throws invalid_request for an invalid name, conflict with the id of the existing partner
 */
export async function createPartner(
  { postgres, audit }: { postgres: Postgres; audit: Audit },
  typedName: string,
): Promise<{ id: string; name: string }> {
  const name = typedName.trim();
  if (name === "" || name.length > limits.auth.nameMaxLength || /\p{Cc}/u.test(name)) {
    throw invalidRequest(`The name must have 1 to ${limits.auth.nameMaxLength} characters in one line.`);
  }
  const id = await insertPartner(postgres.pool, name);
  if (id === undefined) {
    const existing = await findPartnerId(postgres.prisma, name);
    throw new DomainError("conflict", {
      message: `Partner ${name} already exists.`,
      extra: { id: existing, name },
    });
  }
  await audit.record({
    action: "partner.created",
    actor: { kind: "operator" },
    subject: { kind: "partner", id },
  });
  return { id, name };
}

/** Dependencies of suspending a partner. */
interface SuspendPartnerDeps {
  postgres: Postgres;
  audit: Audit;
}

/** A partner after the change; `suspendedAt` is null unless the partner is suspended. */
interface SuspendedPartner {
  id: string;
  name: string;
  suspendedAt: string | null;
}

/**
 * Suspends a partner (by name or id): all its requests are refused, and its games stay available.
 *
 * @throws not_found
 */
export async function suspendPartner(
  deps: SuspendPartnerDeps,
  partnerNameOrId: string,
): Promise<SuspendedPartner> {
  return setSuspended(deps, partnerNameOrId, true);
}

/**
 * Resumes a suspended partner. Keys that have not expired work again.
 *
 * @throws not_found
 */
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
