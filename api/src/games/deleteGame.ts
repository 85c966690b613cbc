import type { Audit } from "../audit/audit.ts";
import { gameAuditEvent } from "./gameAuditEvent.ts";
import type { GamePrecondition } from "./gameEtag.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import { lockPartnerGame, updateGameDeleted } from "./partnerGameQueries.ts";
import { syncGameCache, type SyncGameCachesDeps } from "./syncGameCaches.ts";
import { noSuchGame } from "./updateGame.ts";

/** What deleting a game needs. */
export interface DeleteGameDeps extends SyncGameCachesDeps {
  audit: Audit;
}

/**
 * Deletes a game from the catalogue: no new session can start, running ones go on with their files. Its slug
 * stays taken for 90 days. Throws not_found and precondition_failed.
 */
export async function deleteGame(
  deps: DeleteGameDeps,
  partner: PartnerPrincipal,
  slug: string,
  precondition?: GamePrecondition,
): Promise<void> {
  const id = await deps.postgres.transaction(async (transaction) => {
    const game = await lockPartnerGame(transaction, partner.id, slug);
    if (game === undefined) throw noSuchGame(slug);
    precondition?.(game);
    await updateGameDeleted(transaction, game.id);
    return game.id;
  });
  await deps.audit.record(gameAuditEvent("game.deleted", partner, id));
  // When this fails, the leader's next pass does it.
  await syncGameCache(deps, id).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, game: slug },
      "The API could not remove the GameCache of a deleted game yet; it tries again.",
    );
  });
}
