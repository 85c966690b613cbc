import type { Queryable } from "../stores/queryable.ts";

/**
 * What toggling a favourite found and did. Listed but neither removed nor added: another request was quicker.
 */
export interface FavoriteToggle {
  /** Whether the game is in the catalogue. */
  isListed: boolean;
  isRemoved: boolean;
  isAdded: boolean;
}

/** Removes the user's mark from the game, or adds it where there was none. */
export async function updateFavorite(db: Queryable, userId: string, gameId: string): Promise<FavoriteToggle> {
  const {
    rows: [toggled],
  } = await db.query<FavoriteToggle>({
    name: "toggle-favorite",
    text: `WITH game AS (SELECT id FROM games WHERE id = $2 AND status = 'active' AND deleted_at IS NULL),
        removed AS (DELETE FROM favorites WHERE user_id = $1 AND game_id = (SELECT id FROM game) RETURNING 1),
        added AS (
          INSERT INTO favorites (user_id, game_id) SELECT $1, id FROM game WHERE NOT EXISTS (SELECT FROM removed) ON CONFLICT DO NOTHING RETURNING 1
        )
        SELECT EXISTS (SELECT FROM game) AS "isListed", EXISTS (SELECT FROM removed) AS "isRemoved", EXISTS (SELECT FROM added) AS "isAdded"`,
    values: [userId, gameId],
  });
  return toggled ?? { isListed: false, isRemoved: false, isAdded: false };
}
