import type { FavoriteResponse } from "#contracts/http/catalog.ts";
import { DomainError } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { updateFavorite } from "./favoriteQueries.ts";

/** Each further attempt means that another request has toggled the same favourite meanwhile. */
const attemptsMax = 100;

/**
 * Marks the game as the user's favourite, or removes the mark; undefined for a game that is not in the
 * catalogue. Requests of one user at once take effect one after the other, so an even number of them changes
 * nothing. `alsoWithin` runs in the same transaction. Throws conflict when other requests get in between
 * every time.
 */
export async function toggleFavorite(
  { pool, transaction }: Pick<Postgres, "pool" | "transaction">,
  userId: string,
  gameId: string,
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
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { isListed, isRemoved, isAdded } = await updateFavorite(db, userId, gameId);
    if (!isListed) return undefined;
    if (isRemoved) return { status: "removed", gameId };
    if (isAdded) return { status: "added", gameId };
    // The mark was not there to remove, but was there when it came to adding it.
  }
  throw new DomainError("conflict", {
    message: "This game is being marked and unmarked all the time: try again in a moment.",
    retryAfterSeconds: 1,
  });
}
