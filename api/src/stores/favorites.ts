import type { Postgres } from "./postgres.ts";

/** Turns the mark over; undefined for a game that is not in the catalogue. Toggles of one user wait for each other. */
export async function toggleFavorite(
  { transaction }: Pick<Postgres, "transaction">, userId: string, gameId: string,
): Promise<"added" | "removed" | undefined> {
  return transaction(async (client) => {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 7264010350))", [`${userId} ${gameId}`]);
    const game = await client.query("SELECT 1 FROM games WHERE id = $1 AND status = 'active' AND deleted_at IS NULL FOR KEY SHARE", [gameId]);
    if (game.rowCount === 0) return undefined;
    const removed = await client.query("DELETE FROM favorites WHERE user_id = $1 AND game_id = $2", [userId, gameId]);
    if (removed.rowCount === 1) return "removed";
    await client.query("INSERT INTO favorites (user_id, game_id) VALUES ($1, $2)", [userId, gameId]);
    return "added";
  });
}
