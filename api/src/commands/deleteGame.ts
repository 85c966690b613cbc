import type { Deps } from "../deps.ts";
import type { PartnerPrincipal } from "../routing/appContext.ts";
import { markGameDeleted } from "../stores/gameVersionStore.ts";
import { followGameCache } from "../recorder/followGameCaches.ts";
import { noSuchGame } from "./updateGame.ts";

/**
 * Takes a game out of the catalogue for good: no new session can start, those that run go on with their files. Its slug
 * stays taken, because saves and caches are known by it. Throws not_found.
 */
export async function deleteGame(
  deps: Pick<Deps, "postgres" | "audit" | "logger" | "gameCacheWriter" | "objectStore">, partner: PartnerPrincipal, slug: string,
): Promise<void> {
  const id = await markGameDeleted(deps.postgres.pool, partner.id, slug);
  if (id === undefined) throw noSuchGame(slug);
  await deps.audit.record({ action: "game.deleted", actor: { kind: "partner", id: partner.id }, subject: { kind: "game", id } });
  // The relay does it when this cannot.
  await followGameCache(deps, id).catch((error: unknown) => {
    deps.logger.warn({ err: error, game: slug }, "The cache of a deleted game could not be removed yet; the relay tries again.");
  });
}
