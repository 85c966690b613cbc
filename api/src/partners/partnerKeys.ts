import { limits } from "#contracts/limits.ts";
import { DomainError, notFound } from "../errors.ts";
import { createPartnerKey } from "./keys.ts";
import type { Audit } from "../audit/audit.ts";
import type { Postgres } from "../stores/postgres.ts";

interface Stores {
  postgres: Postgres;
  audit: Audit;
}

/** A new key, whose text is shown this once. */
export interface IssuedKey {
  partner: { id: string; name: string };
  keyId: string;
  key: string;
  /** Null: it never expires. */
  expiresAt: string | null;
}

/** Gives a partner (by name or id) another key; two at a time may live, so that one can replace the other. */
export async function issuePartnerKey({ postgres, audit }: Stores, partnerNameOrId: string, expiresInDays: number | undefined): Promise<IssuedKey> {
  const { key, keyId, secretHash } = createPartnerKey();
  const issued = await postgres.transaction(async (client) => {
    const { rows: [partner] } = await client.query<{ id: string; name: string }>(
      "SELECT id, name FROM partners WHERE name = $1 OR id = $1 ORDER BY id = $1 DESC LIMIT 1 FOR UPDATE", [partnerNameOrId],
    );
    if (partner === undefined) throw notFound(`There is no partner ${partnerNameOrId}: make one with 'joypod partner create --name …'.`);
    const { rows: live } = await client.query<{ id: string }>(
      "SELECT id FROM partner_keys WHERE partner_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) ORDER BY created_at",
      [partner.id],
    );
    if (live.length >= limits.partner.liveKeys) {
      throw new DomainError("conflict", { message: `${partner.name} has ${live.length} live keys already (${live.map(({ id }) => id).join(", ")}): revoke one with 'joypod partner key revoke --key …'.`, extra: { partner: partner.id } });
    }
    const { rows: [row] } = await client.query<{ expires_at: Date | null }>(
      `INSERT INTO partner_keys (id, partner_id, secret_hash, expires_at)
       VALUES ($1, $2, $3, now() + make_interval(days => $4::int)) RETURNING expires_at`,
      [keyId, partner.id, secretHash, expiresInDays ?? null],
    );
    return { partner, expiresAt: row?.expires_at?.toISOString() ?? null };
  });
  await audit.record({
    action: "partnerKey.created", actor: { kind: "operator" }, subject: { kind: "partner", id: issued.partner.id }, details: { keyId },
  });
  return { ...issued, keyId, key };
}

/** Ends a key at once. Revoking it again changes nothing. */
export async function revokePartnerKey({ postgres, audit }: Stores, keyId: string): Promise<{ keyId: string; revokedAt: string }> {
  const { rows: [row] } = await postgres.pool.query<{ revoked_at: Date; is_new: boolean; partner_id: string }>(
    `WITH before AS (SELECT id, revoked_at FROM partner_keys WHERE id = $1)
     UPDATE partner_keys SET revoked_at = coalesce(partner_keys.revoked_at, now()) FROM before
     WHERE partner_keys.id = before.id
     RETURNING partner_keys.revoked_at, before.revoked_at IS NULL AS is_new, partner_id`,
    [keyId],
  );
  if (row === undefined) throw notFound(`There is no key ${keyId}: give the id, which is the part between the second and third underscore.`);
  if (row.is_new) {
    await audit.record({
      action: "partnerKey.revoked", actor: { kind: "operator" }, subject: { kind: "partner", id: row.partner_id }, details: { keyId },
    });
  }
  return { keyId, revokedAt: row.revoked_at.toISOString() };
}

/** A key as its owner's list has it; times are null for what never happened or shall not. */
export interface ListedKey {
  keyId: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** To the minute. */
  lastUsedAt: string | null;
}

/** All keys that a partner (by name or id) was given, the oldest first. */
export async function listPartnerKeys({ postgres }: Pick<Stores, "postgres">, partnerNameOrId: string): Promise<ListedKey[]> {
  const partner = await postgres.prisma.partner.findFirst({
    where: { OR: [{ id: partnerNameOrId }, { name: partnerNameOrId }] }, include: { keys: { orderBy: { createdAt: "asc" } } },
  });
  if (partner === null) throw notFound(`There is no partner ${partnerNameOrId}: make one with 'joypod partner create --name …'.`);
  return partner.keys.map(({ id, createdAt, expiresAt, revokedAt, lastUsedAt }) => ({
    keyId: id, createdAt: createdAt.toISOString(), expiresAt: isoOf(expiresAt), revokedAt: isoOf(revokedAt), lastUsedAt: isoOf(lastUsedAt),
  }));
}

function isoOf(moment: Date | null): string | null {
  return moment?.toISOString() ?? null;
}
