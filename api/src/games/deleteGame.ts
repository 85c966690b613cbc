import type { Audit } from "../audit/audit.ts";
import { gameEvent } from "./gameAuditEvent.ts";
import { preconditionFailed, type GamePrecondition } from "./gameEtag.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import { markGameDeleted } from "./gameVersionStore.ts";
import { PartnerGames } from "./partnerGameStore.ts";
import { followGameCache, type FollowDeps } from "./followGameCaches.ts";
import type { Postgres } from "../stores/postgres.ts";
import { noSuchGame } from "./updateGame.ts";

/** What deleting a game needs. */
export interface DeleteGameDeps extends FollowDeps {
  audit: Audit;
}

/**
 * Takes a game out of the catalogue for good: no new session can start, those that run go on with their files. Its slug
 * stays taken for a while. Throws not_found and precondition_failed.
 */
export async function deleteGame(
  deps: DeleteGameDeps, partner: PartnerPrincipal, slug: string, precondition?: GamePrecondition,
): Promise<void> {
  const id = precondition === undefined
    ? await markGameDeleted(deps.postgres.pool, partner.id, slug)
    : await deleteAsSeen(deps, partner, slug, precondition);
  if (id === undefined) throw noSuchGame(slug);
  await deps.audit.record(gameEvent("game.deleted", partner, id));
  // The relay does it when this cannot.
  await followGameCache(deps, id).catch((error: unknown) => {
    deps.logger.warn({ err: error, game: slug }, "The cache of a deleted game could not be removed yet; the relay tries again.");
  });
}

/** Undefined when there is no such game; throws when it is not, or in the same moment no longer is, what the client has seen. */
async function deleteAsSeen(
  { postgres }: { postgres: Postgres }, partner: PartnerPrincipal, slug: string, precondition: GamePrecondition,
): Promise<string | undefined> {
  const games = new PartnerGames(postgres, partner.id);
  const game = await games.find(slug);
  if (game === null) return undefined;
  precondition(game);
  const id = await markGameDeleted(postgres.pool, partner.id, slug, game.revision);
  if (id === undefined && await games.find(slug) !== null) throw preconditionFailed();
  return id;
}
