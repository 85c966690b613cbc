import { limits } from "#contracts/limits.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";
import { findPartnerId, insertPartner } from "./partnerQueries.ts";

/**
 * Creates a partner, who has no key yet. Throws invalid_request for the name, and conflict with the id of the
 * one of that name.
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
      message: `There is a partner ${name} already.`,
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
