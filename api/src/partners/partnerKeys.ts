import { limits } from "#contracts/limits.ts";
import type { Audit } from "../audit/audit.ts";
import { DomainError, notFound } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import { createPartnerKey } from "./keyFormat.ts";
import {
  insertPartnerKey,
  listLivePartnerKeyIds,
  lockPartner,
  listPartnerKeyRows,
  updatePartnerKeyRevoked,
} from "./partnerQueries.ts";

/** A new key, whose text is shown only once. */
interface IssuedKey {
  partner: { id: string; name: string };
  keyId: string;
  key: string;
  /** Null for a key that never expires. */
  expiresAt: string | null;
}

/**
 * Issues a new key for a partner (by name or id). Two keys can be valid at a time, so one can replace the
 * other.
 *
 * @throws not_found, conflict when the partner already has two valid keys
 */
export async function issuePartnerKey(
  { postgres, audit }: { postgres: Postgres; audit: Audit },
  partnerNameOrId: string,
  expiresInDays: number | undefined,
): Promise<IssuedKey> {
  const { key, keyId, secretHash } = createPartnerKey();
  const issued = await postgres.transaction(async (transaction) => {
    const partner = await lockPartner(transaction, partnerNameOrId);
    if (partner === undefined)
      throw notFound(
        `There is no partner ${partnerNameOrId}: create one with 'joypod partner create --name …'.`,
      );
    const live = await listLivePartnerKeyIds(transaction, partner.id);
    if (live.length >= limits.partner.liveKeys) {
      const message = `${partner.name} has ${live.length} valid keys (${live.join(", ")}): revoke one with 'joypod partner key revoke --key …'.`;
      throw new DomainError("conflict", { message, extra: { partner: partner.id } });
    }
    const expiresAt = await insertPartnerKey(transaction, {
      keyId,
      partnerId: partner.id,
      secretHash,
      expiresInDays,
    });
    return { partner, expiresAt: expiresAt?.toISOString() ?? null };
  });
  await audit.record({
    action: "partnerKey.created",
    actor: { kind: "operator" },
    subject: { kind: "partner", id: issued.partner.id },
    details: { keyId },
  });
  return { ...issued, keyId, key };
}

/** A key in the partner's list; null for a time that does not apply. */
export interface ListedKey {
  keyId: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** Accurate to one minute. */
  lastUsedAt: string | null;
}

/**
 * Returns all keys of a partner (by name or id), oldest first.
 *
 * @throws not_found
 */
export async function listPartnerKeys(
  { postgres }: { postgres: Postgres },
  partnerNameOrId: string,
): Promise<ListedKey[]> {
  const keys = await listPartnerKeyRows(postgres.prisma, partnerNameOrId);
  if (keys === undefined)
    throw notFound(
      `There is no partner ${partnerNameOrId}: create one with 'joypod partner create --name …'.`,
    );
  return keys.map(({ id, createdAt, expiresAt, revokedAt, lastUsedAt }) => ({
    keyId: id,
    createdAt: createdAt.toISOString(),
    expiresAt: isoOf(expiresAt),
    revokedAt: isoOf(revokedAt),
    lastUsedAt: isoOf(lastUsedAt),
  }));
}

function isoOf(moment: Date | null): string | null {
  return moment?.toISOString() ?? null;
}

/**
 * Revokes a key immediately. Idempotent.
 *
 * @throws not_found
 */
export async function revokePartnerKey(
  { postgres, audit }: { postgres: Postgres; audit: Audit },
  keyId: string,
): Promise<{ keyId: string; revokedAt: string }> {
  const revocation = await updatePartnerKeyRevoked(postgres.pool, keyId);
  if (revocation === undefined)
    throw notFound(
      `There is no key ${keyId}. Specify the id, which is the part between the second and third underscore.`,
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
