import type { PrismaClient, PartnerKey } from "../generated/client.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Stores a partner and returns the new id; undefined when the name is taken. */
export async function insertPartner(db: Queryable, name: string): Promise<string | undefined> {
  const {
    rows: [created],
  } = await db.query<{ id: string }>(
    "INSERT INTO partners (name) VALUES ($1) ON CONFLICT (name) DO NOTHING RETURNING id",
    [name],
  );
  return created?.id;
}

/** Returns the id of the partner with that name. Throws if it is unknown. */
export async function findPartnerId(prisma: PrismaClient, name: string): Promise<string> {
  const { id } = await prisma.partner.findUniqueOrThrow({ where: { name }, select: { id: true } });
  return id;
}

/** Returns the id of the partner with that name or id; undefined if unknown. */
export async function findPartnerIdOf(prisma: PrismaClient, nameOrId: string): Promise<string | undefined> {
  return (
    await prisma.partner.findFirst({
      where: { OR: [{ id: nameOrId }, { name: nameOrId }] },
      select: { id: true },
    })
  )?.id;
}

/** Locks the partner with that name or id until the transaction ends; undefined if unknown. */
export async function lockPartner(
  transaction: Queryable,
  nameOrId: string,
): Promise<{ id: string; name: string } | undefined> {
  const {
    rows: [partner],
  } = await transaction.query<{ id: string; name: string }>(
    "SELECT id, name FROM partners WHERE name = $1 OR id = $1 ORDER BY id = $1 DESC LIMIT 1 FOR UPDATE",
    [nameOrId],
  );
  return partner;
}

/** A partner whose suspension was set or lifted. */
interface PartnerSuspension {
  id: string;
  name: string;
  /** Null when the partner is not suspended. */
  suspendedAt: Date | null;
  /** False when the partner was already in this state. */
  isChanged: boolean;
}

/** Suspends or resumes the partner with that name or id; undefined if unknown. */
export async function updatePartnerSuspended(
  db: Queryable,
  nameOrId: string,
  isSuspended: boolean,
): Promise<PartnerSuspension | undefined> {
  const {
    rows: [row],
  } = await db.query<PartnerSuspension>(
    `WITH before AS (SELECT id, suspended_at FROM partners WHERE name = $1 OR id = $1 ORDER BY id = $1 DESC LIMIT 1 FOR UPDATE)
     UPDATE partners SET suspended_at = CASE WHEN $2 THEN coalesce(partners.suspended_at, now()) END FROM before
     WHERE partners.id = before.id
     RETURNING partners.id, name, partners.suspended_at AS "suspendedAt", (before.suspended_at IS NULL) = $2 AS "isChanged"`,
    [nameOrId, isSuspended],
  );
  return row;
}

/** Resolution of a key's last use, so that not every request writes it. */
const useSeconds = 60;

/** Returns the ids of the partner's valid keys, oldest first. */
export async function listLivePartnerKeyIds(transaction: Queryable, partnerId: string): Promise<string[]> {
  const { rows } = await transaction.query<{ id: string }>(
    "SELECT id FROM partner_keys WHERE partner_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) ORDER BY created_at",
    [partnerId],
  );
  return rows.map(({ id }) => id);
}

/** A key about to be stored. */
interface NewPartnerKeyRow {
  keyId: string;
  partnerId: string;
  secretHash: string;
  /** Undefined for a key that never expires. */
  expiresInDays: number | undefined;
}

/** Stores a key and returns its expiry; null if it never expires. */
export async function insertPartnerKey(
  transaction: Queryable,
  { keyId, partnerId, secretHash, expiresInDays }: NewPartnerKeyRow,
): Promise<Date | null> {
  const {
    rows: [row],
  } = await transaction.query<{ expiresAt: Date | null }>(
    `INSERT INTO partner_keys (id, partner_id, secret_hash, expires_at)
     VALUES ($1, $2, $3, now() + make_interval(days => $4::int)) RETURNING expires_at AS "expiresAt"`,
    [keyId, partnerId, secretHash, expiresInDays ?? null],
  );
  return row?.expiresAt ?? null;
}

/** A revoked key. */
interface PartnerKeyRevocation {
  partnerId: string;
  revokedAt: Date;
  /** False when it was already revoked. */
  isChanged: boolean;
}

/** Revokes the key; undefined if it is unknown. */
export async function updatePartnerKeyRevoked(
  db: Queryable,
  keyId: string,
): Promise<PartnerKeyRevocation | undefined> {
  const {
    rows: [row],
  } = await db.query<PartnerKeyRevocation>(
    `WITH before AS (SELECT id, revoked_at FROM partner_keys WHERE id = $1)
     UPDATE partner_keys SET revoked_at = coalesce(partner_keys.revoked_at, now()) FROM before
     WHERE partner_keys.id = before.id
     RETURNING partner_keys.revoked_at AS "revokedAt", before.revoked_at IS NULL AS "isChanged", partner_id AS "partnerId"`,
    [keyId],
  );
  return row;
}

/**
 * Returns all keys of the partner with that name or id, oldest first; undefined if the partner is unknown.
 */
export async function listPartnerKeyRows(
  prisma: PrismaClient,
  nameOrId: string,
): Promise<PartnerKey[] | undefined> {
  const partner = await prisma.partner.findFirst({
    where: { OR: [{ id: nameOrId }, { name: nameOrId }] },
    include: { keys: { orderBy: { createdAt: "asc" } } },
  });
  return partner?.keys;
}

/** A valid key with its partner. */
export interface LivePartnerKey {
  secretHash: string;
  partnerId: string;
  partnerName: string;
  isSuspended: boolean;
  /** Whether the last recorded use is more than a minute old. */
  isUseDue: boolean;
}

/** Returns the valid key with that id; undefined if it is unknown, expired or revoked. */
export async function findLivePartnerKey(db: Queryable, keyId: string): Promise<LivePartnerKey | undefined> {
  const { rows } = await db.query<LivePartnerKey>({
    name: "find-partner-key",
    text: `SELECT k.secret_hash AS "secretHash", k.partner_id AS "partnerId", p.name AS "partnerName", p.suspended_at IS NOT NULL AS "isSuspended",
             coalesce(k.last_used_at < now() - make_interval(secs => ${useSeconds}), true) AS "isUseDue"
           FROM partner_keys k JOIN partners p ON p.id = k.partner_id
           WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
    values: [keyId],
  });
  return rows[0];
}

/**
 * Returns the partner of a valid key and delays revocations and suspensions until the transaction ends;
 * undefined if the key is not valid.
 */
export async function lockLivePartnerKey(
  transaction: Queryable,
  keyId: string,
): Promise<Pick<LivePartnerKey, "isSuspended"> | undefined> {
  const { rows } = await transaction.query<Pick<LivePartnerKey, "isSuspended">>({
    name: "lock-partner-key",
    text: `SELECT p.suspended_at IS NOT NULL AS "isSuspended" FROM partner_keys k JOIN partners p ON p.id = k.partner_id
           WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) FOR SHARE`,
    values: [keyId],
  });
  return rows[0];
}

/** Records a use of the key. */
export async function updatePartnerKeyUsed(db: Queryable, keyId: string): Promise<void> {
  await db.query({
    name: "note-partner-key-use",
    text: "UPDATE partner_keys SET last_used_at = now() WHERE id = $1",
    values: [keyId],
  });
}
