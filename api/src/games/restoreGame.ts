import type { Audit } from "../audit/audit.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import type { Postgres } from "../stores/postgres.ts";
import { gameAuditEvent } from "./gameAuditEvent.ts";
import {
  findPartnerGame,
  lockDeletedGame,
  lockPartnerGames,
  updateGameRestored,
  type PartnerGame,
} from "./partnerGameQueries.ts";
import { requireRoom } from "./requireRoom.ts";
import { syncGameCache, type SyncGameCachesDeps } from "./syncGameCaches.ts";
import { noSuchGame } from "./updateGame.ts";

/** What restoring a game needs. */
export interface RestoreGameDeps extends SyncGameCachesDeps {
  postgres: Postgres;
  audit: Audit;
}

/**
 * Puts a game that was deleted within the last 90 days back into the catalogue and returns it, with the
 * archive that it had. A game that is not deleted is returned as it is. Throws not_found, and conflict when
 * the partner has as many games as there may be.
 */
export async function restoreGame(
  deps: RestoreGameDeps,
  partner: PartnerPrincipal,
  slug: string,
): Promise<PartnerGame> {
  const restoredId = await deps.postgres.transaction(async (transaction) => {
    await lockPartnerGames(transaction, partner.id);
    const id = await lockDeletedGame(transaction, partner.id, slug);
    if (id === undefined) return undefined;
    await requireRoom(transaction, partner);
    await updateGameRestored(transaction, id);
    return id;
  });
  const game = await findPartnerGame(deps.postgres.prisma, partner.id, slug);
  if (game === null) throw noSuchGame(slug);
  if (restoredId === undefined) return game;
  await deps.audit.record(gameAuditEvent("game.restored", partner, restoredId));
  // When this fails, the leader's next pass does it.
  await syncGameCache(deps, restoredId).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, game: slug },
      "The API could not write the GameCache of a restored game yet; it tries again.",
    );
  });
  return game;
}
