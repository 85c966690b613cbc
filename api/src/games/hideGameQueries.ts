import type { Queryable } from "../stores/queryable.ts";

/** Hides the game or replaces the reason; undefined if there is no such game that is not deleted. */
export async function updateGameHidden(
  db: Queryable,
  slug: string,
  reason: string | null,
): Promise<{ id: string; hiddenAt: Date } | undefined> {
  const { rows } = await db.query<{ id: string; hiddenAt: Date }>({
    text: `UPDATE games SET hidden_at = coalesce(hidden_at, now()), hidden_reason = $2, hidden_with_partner = false, updated_at = now()
      WHERE slug = $1 AND deleted_at IS NULL RETURNING id, hidden_at AS "hiddenAt"`,
    values: [slug, reason],
  });
  return rows[0];
}

/** Shows the game again; undefined if it is unknown. A deleted game stays deleted. */
export async function updateGameUnhidden(
  db: Queryable,
  slug: string,
): Promise<{ id: string; isChanged: boolean } | undefined> {
  const { rows } = await db.query<{ id: string; isChanged: boolean }>({
    text: `WITH before AS (SELECT id, hidden_at FROM games WHERE slug = $1 FOR UPDATE)
      UPDATE games SET hidden_at = NULL, hidden_reason = NULL, hidden_with_partner = false,
        updated_at = CASE WHEN before.hidden_at IS NULL THEN updated_at ELSE now() END
      FROM before WHERE games.id = before.id RETURNING games.id, before.hidden_at IS NOT NULL AS "isChanged"`,
    values: [slug],
  });
  return rows[0];
}

/** A game whose visibility was changed together with others of its partner. */
export interface ChangedGame {
  id: string;
  slug: string;
}

/** Hides the partner's games that are not hidden or deleted. */
export async function updatePartnerGamesHidden(
  db: Queryable,
  partnerId: string,
  reason: string | null,
): Promise<ChangedGame[]> {
  const { rows } = await db.query<ChangedGame>({
    text: `UPDATE games SET hidden_at = now(), hidden_reason = $2, hidden_with_partner = true, updated_at = now()
      WHERE partner_id = $1 AND hidden_at IS NULL AND deleted_at IS NULL RETURNING id, slug`,
    values: [partnerId, reason],
  });
  return rows;
}

/** Shows the partner's games again that were hidden together. */
export async function updatePartnerGamesUnhidden(db: Queryable, partnerId: string): Promise<ChangedGame[]> {
  const { rows } = await db.query<ChangedGame>({
    text: `UPDATE games SET hidden_at = NULL, hidden_reason = NULL, hidden_with_partner = false, updated_at = now()
      WHERE partner_id = $1 AND hidden_with_partner RETURNING id, slug`,
    values: [partnerId],
  });
  return rows;
}
