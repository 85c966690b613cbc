import { notFound } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import { listPartnerKeyRows } from "./partnerKeyQueries.ts";

/** A key as its owner's list shows it; null for a time that has not come and will not. */
export interface ListedKey {
  keyId: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** To the minute. */
  lastUsedAt: string | null;
}

/** Returns all keys that a partner (by name or id) was given, the oldest first. Throws not_found. */
export async function listPartnerKeys(
  { postgres }: { postgres: Postgres },
  partnerNameOrId: string,
): Promise<ListedKey[]> {
  const keys = await listPartnerKeyRows(postgres.prisma, partnerNameOrId);
  if (keys === undefined)
    throw notFound(`There is no partner ${partnerNameOrId}: make one with 'joypod partner create --name …'.`);
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
