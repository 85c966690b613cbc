import type { FavoriteResponse } from "#contracts/http/catalog.ts";
import { DomainError } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Each further try means that another request has turned the mark meanwhile. */
const triesMost = 100;

/**
 * Turns the mark over; undefined for a game that is not in the catalogue. Requests of one user at once take effect one after
 * the other, so an even number of them changes nothing. `alsoWithin` runs in the same transaction.
 */
export async function toggleFavorite(
  { pool, transaction }: Pick<Postgres, "pool" | "transaction">, userId: string, gameId: string,
  alsoWithin?: (toggled: FavoriteResponse, transaction: Queryable) => Promise<void>,
): Promise<FavoriteResponse | undefined> {
  if (alsoWithin === undefined) return toggle(pool, userId, gameId);
  return transaction(async (client) => {
    const toggled = await toggle(client, userId, gameId);
    if (toggled !== undefined) await alsoWithin(toggled, client);
    return toggled;
  });
}

async function toggle(db: Queryable, userId: string, gameId: string): Promise<FavoriteResponse | undefined> {
  for (let count = 0; count < triesMost; count++) {
    const { rows: [turned] } = await db.query<{ isListed: boolean; isRemoved: boolean; isAdded: boolean }>({
      name: "favorites.toggle",
      text: `WITH game AS (SELECT id FROM games WHERE id = $2 AND status = 'active' AND deleted_at IS NULL),
        removed AS (DELETE FROM favorites WHERE user_id = $1 AND game_id = (SELECT id FROM game) RETURNING 1),
        added AS (
          INSERT INTO favorites (user_id, game_id) SELECT $1, id FROM game WHERE NOT EXISTS (SELECT FROM removed) ON CONFLICT DO NOTHING RETURNING 1
        )
        SELECT EXISTS (SELECT FROM game) AS "isListed", EXISTS (SELECT FROM removed) AS "isRemoved", EXISTS (SELECT FROM added) AS "isAdded"`,
      values: [userId, gameId],
    });
    if (turned?.isListed !== true) return undefined;
    if (turned.isRemoved) return { status: "removed", gameId };
    if (turned.isAdded) return { status: "added", gameId };
    // The mark was not there to remove, but was when it came to adding it.
  }
  throw new DomainError("conflict", { message: "This game is being marked and unmarked all the time: try again in a moment.", retryAfterSeconds: 1 });
}
