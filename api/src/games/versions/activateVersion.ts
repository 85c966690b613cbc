import type { Audit } from "../../audit/audit.ts";
import { DomainError, notFound } from "../../errors.ts";
import type { PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { Queryable } from "../../stores/queryable.ts";
import type { GamePrecondition } from "../gameEtag.ts";
import { lockVersion, updateCurrentVersion, type LockedVersion } from "../gameVersionQueries.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { lockGameOfAll, lockPartnerGame, type LockedPartnerGame } from "../partnerGameQueries.ts";
import { syncGameCache, type SyncGameCachesDeps } from "../syncGameCaches.ts";
import { gameAuditEvent, noSuchGame } from "../updateGame.ts";
import { clearRequirement } from "../verificationQueries.ts";

/** Dependencies of activating a version. */
export interface ActivateVersionDeps extends SyncGameCachesDeps {
  audit: Audit;
}

/** The version to activate. */
interface VersionRef {
  slug: string;
  versionId: string;
}

/**
 * Makes a kept version the game's current one, whether it is older or newer than that, and returns the id of
 * the game. Sessions keep theirs, and nodes that still hold the version download nothing. A no-op for the
 * current one.
 *
 * @throws not_found, conflict when its archive is no longer kept, precondition_failed
 */
export async function activateVersion(
  deps: ActivateVersionDeps,
  partner: PartnerPrincipal,
  { slug, versionId }: VersionRef,
  precondition?: GamePrecondition,
): Promise<string> {
  const { gameId, isChanged } = await deps.postgres.transaction(async (transaction) => {
    const game = await lockPartnerGame(transaction, partner.id, slug);
    if (game === undefined) throw noSuchGame(slug);
    precondition?.(game);
    return { gameId: game.id, isChanged: await switchVersion(transaction, game, versionId) };
  });
  if (isChanged) {
    await deps.audit.record(gameAuditEvent("game.versionActivated", partner, gameId, { version: versionId }));
    // If this fails, the leader's next pass does it.
    await syncGameCache(deps, gameId).catch((error: unknown) => {
      deps.logger.warn(
        { err: error, game: slug },
        "The API could not update a game's GameCache yet; it will retry.",
      );
    });
  }
  return gameId;
}

/**
 * Does the same for an admin, whatever partner the game has. The leader updates the GameCache within seconds.
 *
 * @throws not_found, conflict when its archive is no longer kept
 */
export async function activateVersionForAdmin(
  { postgres, audit }: { postgres: Postgres; audit: Audit },
  { slug, versionId }: VersionRef,
): Promise<void> {
  const { gameId, isChanged } = await postgres.transaction(async (transaction) => {
    const game = await lockGameOfAll(transaction, slug);
    if (game === undefined) throw noSuchGame(slug);
    return { gameId: game.id, isChanged: await switchVersion(transaction, game, versionId) };
  });
  if (!isChanged) return;
  await audit.record({
    action: "game.versionActivated",
    actor: { kind: "operator" },
    subject: { kind: "game", id: gameId },
    details: { version: versionId },
  });
}

/** Makes the version current. Returns false if it is already. */
async function switchVersion(
  transaction: Queryable,
  game: LockedPartnerGame,
  versionId: string,
): Promise<boolean> {
  if (game.currentVersionId === versionId) return false;
  await lockUsableVersion(transaction, game, versionId);
  await updateCurrentVersion(transaction, game.id, versionId);
  await clearRequirement(transaction, game.id);
  return true;
}

/** The locked game, with what its versions of an earlier release were checked with. */
interface Launchable {
  id: string;
  launcher: string;
  engineDir: string;
}

/**
 * Locks a version that players can get.
 *
 * @throws not_found, conflict when its archive is no longer kept or lacks the launcher
 */
export async function lockUsableVersion(
  transaction: Queryable,
  game: Launchable,
  versionId: string,
): Promise<void> {
  const version = await lockVersion(transaction, game.id, versionId);
  if (version === undefined) throw noSuchVersion();
  if (version.isRemoved)
    throw new DomainError("conflict", {
      message: "The archive of this version is no longer kept. Upload it again.",
    });
  if (!hasLauncher(version, game))
    throw new DomainError("conflict", {
      message: `The archive of this version has no ${game.launcher} and ${game.engineDir} at its root. Upload it again with the launcher and engineDir that it needs.`,
    });
}

/** Returns the 404 for a version that is unknown or another game's. */
export function noSuchVersion(): DomainError {
  return notFound("The game has no such version.");
}

/** Versions of an earlier release do not say what they were checked with. */
function hasLauncher(version: LockedVersion, game: Launchable): boolean {
  return (
    version.launcher !== null ||
    (version.rootFiles.includes(game.launcher) && version.rootDirectories.includes(game.engineDir))
  );
}
