import type { PrismaClient } from "../generated/client.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Stores a partner of that name and returns the new id; undefined when there is one of that name already. */
export async function insertPartner(db: Queryable, name: string): Promise<string | undefined> {
  const {
    rows: [created],
  } = await db.query<{ id: string }>(
    "INSERT INTO partners (name) VALUES ($1) ON CONFLICT (name) DO NOTHING RETURNING id",
    [name],
  );
  return created?.id;
}

/** Returns the id of the partner of that name. Throws when there is none. */
export async function findPartnerId(prisma: PrismaClient, name: string): Promise<string> {
  const { id } = await prisma.partner.findUniqueOrThrow({ where: { name }, select: { id: true } });
  return id;
}

/** Returns the id of the partner of that name or id; undefined when there is none. */
export async function findPartnerIdOf(prisma: PrismaClient, nameOrId: string): Promise<string | undefined> {
  return (
    await prisma.partner.findFirst({
      where: { OR: [{ id: nameOrId }, { name: nameOrId }] },
      select: { id: true },
    })
  )?.id;
}

/** Locks the partner of that name or id until the transaction ends; undefined when there is none. */
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
export interface PartnerSuspension {
  id: string;
  name: string;
  /** Null for a partner who is not suspended. */
  suspendedAt: Date | null;
  /** False when the partner was in this state already. */
  isChanged: boolean;
}

/**
 * Suspends the partner of that name or id, or lifts the suspension; undefined when there is no such partner.
 */
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
