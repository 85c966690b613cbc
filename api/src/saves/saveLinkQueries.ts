import type { Queryable } from "../stores/queryable.ts";

/** A new link to a version of a player's save. */
interface NewSaveLink {
  /** Digest of the token. */
  id: string;
  userId: string;
  slotId: string;
  versionId: string;
}

/** Limits of links. */
interface SaveLinkRule {
  /** Links of a player that have not been used. */
  kept: number;
  lifetimeSeconds: number;
}

/** A link that has neither expired nor been used. */
export interface OpenSaveLink {
  senderId: string;
  senderName: string;
  slug: string;
  title: string;
  thumbnail: string;
  slotId: string;
  versionId: string;
  expiresAt: Date;
}

/**
 * Stores a link and returns when it expires. It replaces the player's link to the same version, and the
 * oldest ones of more than `kept`; expired links of all players are removed.
 */
export async function insertSaveLink(
  db: Queryable,
  { id, userId, slotId, versionId }: NewSaveLink,
  { kept, lifetimeSeconds }: SaveLinkRule,
): Promise<Date> {
  const { rows } = await db.query<{ expiresAt: Date }>({
    name: "insert-save-link",
    text: `
      WITH removed AS (
        DELETE FROM save_links WHERE expires_at < now() OR user_id = $2 AND (version_id = $4 OR id IN (
          SELECT id FROM save_links WHERE user_id = $2 ORDER BY created_at DESC OFFSET $5 - 1))
      )
      INSERT INTO save_links (id, user_id, slot_id, version_id, expires_at)
      VALUES ($1, $2, $3, $4, now() + make_interval(secs => $6))
      RETURNING expires_at AS "expiresAt"`,
    values: [id, userId, slotId, versionId, kept, lifetimeSeconds],
  });
  const [inserted] = rows;
  if (inserted === undefined) throw new Error("The link was not stored.");
  return inserted.expiresAt;
}

/** Returns an open link whose sender may still sign in; undefined otherwise. */
export async function findOpenSaveLink(
  db: Queryable,
  id: string,
  picturesAddress: string,
): Promise<OpenSaveLink | undefined> {
  const { rows } = await db.query<OpenSaveLink>({
    name: "find-open-save-link",
    text: `SELECT u.id AS "senderId", u.name AS "senderName", g.slug, g.title,
        coalesce($2::text || g.picture_id, g.thumbnail, '') AS thumbnail,
        l.slot_id AS "slotId", l.version_id AS "versionId", l.expires_at AS "expiresAt"
      FROM save_links l JOIN users u ON u.id = l.user_id JOIN save_slots s ON s.id = l.slot_id JOIN games g ON g.id = s.game_id
      WHERE l.id = $1 AND l.expires_at > now() AND u.disabled_at IS NULL`,
    values: [id, picturesAddress],
  });
  return rows[0];
}

/** Deletes an open link, which can be used once. Returns false if it was used or has expired. */
export async function deleteOpenSaveLink(transaction: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await transaction.query({
    name: "use-save-link",
    text: "DELETE FROM save_links WHERE id = $1 AND expires_at > now()",
    values: [id],
  });
  return rowCount === 1;
}
