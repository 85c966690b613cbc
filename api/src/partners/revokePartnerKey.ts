import type { Audit } from "../audit/audit.ts";
import { notFound } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import { updatePartnerKeyRevoked } from "./partnerKeyQueries.ts";

/** Revokes a key at once; revoking it again changes nothing. Throws not_found. */
export async function revokePartnerKey(
  { postgres, audit }: { postgres: Postgres; audit: Audit },
  keyId: string,
): Promise<{ keyId: string; revokedAt: string }> {
  const revocation = await updatePartnerKeyRevoked(postgres.pool, keyId);
  if (revocation === undefined)
    throw notFound(
      `There is no key ${keyId}: give the id, which is the part between the second and third underscore.`,
    );
  const { partnerId, revokedAt, isChanged } = revocation;
  if (isChanged) {
    await audit.record({
      action: "partnerKey.revoked",
      actor: { kind: "operator" },
      subject: { kind: "partner", id: partnerId },
      details: { keyId },
    });
  }
  return { keyId, revokedAt: revokedAt.toISOString() };
}
