import type { Queryable } from "../stores/queryable.ts";

/** Selects partners for an admin. */
export interface PartnerFilter {
  /** Part of the name, in any case. */
  search: string | undefined;
  isSuspended: boolean | undefined;
  /** Only names after this one. */
  after: string | undefined;
  limit: number;
}

/** A partner in an admin's list. */
export interface ListedPartner {
  id: string;
  name: string;
  suspendedAt: Date | null;
  createdAt: Date;
  /** Games that are not deleted. */
  games: number;
  /** Keys that are not revoked or expired. */
  keys: number;
  /** Last use of any key. */
  lastUsedAt: Date | null;
}

/** Returns the matching partners, sorted by name. */
export async function listPartners(
  db: Queryable,
  { search, isSuspended, after, limit }: PartnerFilter,
): Promise<ListedPartner[]> {
  const { rows } = await db.query<ListedPartner>({
    text: `SELECT p.id, p.name, p.suspended_at AS "suspendedAt", p.created_at AS "createdAt",
        (SELECT count(*)::int FROM games g WHERE g.partner_id = p.id AND g.deleted_at IS NULL) AS games,
        (SELECT count(*)::int FROM partner_keys k WHERE k.partner_id = p.id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())) AS keys,
        (SELECT max(last_used_at) FROM partner_keys k WHERE k.partner_id = p.id) AS "lastUsedAt"
      FROM partners p
      WHERE ($1::text IS NULL OR strpos(lower(p.name), lower($1)) > 0)
        AND ($2::bool IS NULL OR (p.suspended_at IS NOT NULL) = $2)
        AND ($3::text IS NULL OR p.name > $3)
      ORDER BY p.name LIMIT $4`,
    values: [search ?? null, isSuspended ?? null, after ?? null, limit],
  });
  return rows;
}

/** What an admin sees of a partner. */
export interface PartnerDetails extends ListedPartner {
  /** Games that players can launch. */
  listedGames: number;
  /** Games that an admin hides. */
  hiddenGames: number;
  /** Sessions of the partner's games that have not ended. */
  activeSessions: number;
}

/** Returns the partner with that name or id; undefined if unknown. */
export async function findPartnerDetails(
  db: Queryable,
  nameOrId: string,
): Promise<PartnerDetails | undefined> {
  const { rows } = await db.query<PartnerDetails>({
    text: `SELECT p.id, p.name, p.suspended_at AS "suspendedAt", p.created_at AS "createdAt",
        (SELECT count(*)::int FROM games g WHERE g.partner_id = p.id AND g.deleted_at IS NULL) AS games,
        (SELECT count(*)::int FROM partner_keys k WHERE k.partner_id = p.id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())) AS keys,
        (SELECT max(last_used_at) FROM partner_keys k WHERE k.partner_id = p.id) AS "lastUsedAt",
        (SELECT count(*)::int FROM games g WHERE g.partner_id = p.id AND g.deleted_at IS NULL AND g.status = 'active') AS "listedGames",
        (SELECT count(*)::int FROM games g WHERE g.partner_id = p.id AND g.deleted_at IS NULL AND g.hidden_at IS NOT NULL) AS "hiddenGames",
        (SELECT count(*)::int FROM game_sessions s JOIN games g ON g.id = s.game_id
          WHERE g.partner_id = p.id AND s.status IN ('starting', 'running', 'stopping')) AS "activeSessions"
      FROM partners p WHERE p.name = $1 OR p.id = $1 ORDER BY p.id = $1 DESC LIMIT 1`,
    values: [nameOrId],
  });
  return rows[0];
}
