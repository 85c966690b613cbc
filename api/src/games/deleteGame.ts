import type { Audit } from "../audit/audit.ts";
import { gameAuditEvent } from "./gameAuditEvent.ts";
import { preconditionFailed, type GamePrecondition } from "./gameEtag.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import { findPartnerGame, updateGameDeleted } from "./partnerGameQueries.ts";
import { syncGameCache, type SyncGameCachesDeps } from "./syncGameCaches.ts";
import type { Postgres } from "../stores/postgres.ts";
import { noSuchGame } from "./updateGame.ts";

/** What deleting a game needs. */
export interface DeleteGameDeps extends SyncGameCachesDeps {
  audit: Audit;
}

/**
 * Deletes a game from the catalogue: no new session can start, running ones go on with their files. Its slug stays taken for 90 days.
 * Throws not_found and precondition_failed.
 */
export async function deleteGame(
  deps: DeleteGameDeps, partner: PartnerPrincipal, slug: string, precondition?: GamePrecondition,
): Promise<void> {
  const id = precondition === undefined
    ? await updateGameDeleted(deps.postgres.pool, partner.id, slug)
    : await deleteRevision(deps, partner, slug, precondition);
  if (id === undefined) throw noSuchGame(slug);
  await deps.audit.record(gameAuditEvent("game.deleted", partner, id));
  // When this fails, the leader's next pass does it.
  await syncGameCache(deps, id).catch((error: unknown) => {
    deps.logger.warn({ err: error, game: slug }, "The API could not remove the GameCache of a deleted game yet; it tries again.");
  });
}

/**
 * Deletes the game at the revision that it has, and returns its id; undefined when there is no such game. Throws when the client has read another
 * revision, or the game changes at this moment.
 */
async function deleteRevision(
  { postgres }: { postgres: Postgres }, partner: PartnerPrincipal, slug: string, precondition: GamePrecondition,
): Promise<string | undefined> {
  const game = await findPartnerGame(postgres.prisma, partner.id, slug);
  if (game === null) return undefined;
  precondition(game);
  const id = await updateGameDeleted(postgres.pool, partner.id, slug, game.revision);
  if (id === undefined && await findPartnerGame(postgres.prisma, partner.id, slug) !== null) throw preconditionFailed();
  return id;
}
