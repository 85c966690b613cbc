import type { PatchGameRequest } from "#contracts/http/partners.ts";
import { limits } from "#contracts/limits.ts";
import type { Audit, AuditEvent } from "../audit/audit.ts";
import { DomainError, notFound, invalidRequest } from "../errors.ts";
import type { GamePrecondition } from "./gameEtag.ts";
import { checkResources, declaredResourcesOf, type SiteResources } from "./siteResources.ts";
import { checkVerify, type VerifyConfig } from "./siteVerify.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import {
  findPartnerGame,
  updatePartnerGame,
  type GameMetadata,
  type PartnerGame,
  lockPartnerGame,
  updateGameDeleted,
  lockDeletedGame,
  lockPartnerGames,
  updateGameRestored,
  countPartnerGames,
} from "./partnerGameQueries.ts";
import type { Postgres } from "../stores/postgres.ts";
import { syncGameCache, type SyncGameCachesDeps } from "./syncGameCaches.ts";
import type { Queryable } from "../stores/queryable.ts";

/** Dependencies of updating a game. */
export interface UpdateGameDeps {
  config: NetworkConfig & VerifyConfig & { siteResources: SiteResources };
  postgres: Postgres;
  audit: Audit;
}

/** Each retry means that the game was changed between read and write. */
const attemptsMax = 100;

/**
 * Changes the given fields of a game. Concurrent changes are all applied.
 *
 * @throws invalid_request for network access or resources that the site does not allow, not_found,
 *   precondition_failed, conflict when every attempt collides with another change or the site does not verify
 *   games, invalid_archive when launcher or engineDir are not in the game's archive
 */
export async function updateGame(
  { postgres, audit, config }: UpdateGameDeps,
  partner: PartnerPrincipal,
  slug: string,
  changes: PatchGameRequest,
  precondition?: GamePrecondition,
): Promise<PartnerGame> {
  checkNetwork(config, changes);
  checkResources(config, changes);
  checkVerify(config, changes);
  const data = changesOf(changes);
  const isDecidedByGame = precondition !== undefined || dependsOnGame(changes);
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const game = await findPartnerGame(postgres.prisma, partner.id, slug);
    if (game === null) throw noSuchGame(slug);
    precondition?.(game);
    checkAgainstArchive(game, changes);
    if (Object.keys(data).length === 0) return game;
    const written = { ...data, ...memoryFloorOf(game, data) };
    const updated = await updatePartnerGame(
      postgres.prisma,
      partner.id,
      game.id,
      written,
      isDecidedByGame ? game.revision : undefined,
    );
    if (updated === null) continue;
    await audit.record(gameAuditEvent("game.updated", partner, game.id));
    return updated;
  }
  throw new DomainError("conflict", {
    message: "The game is being changed by other requests. Try again in a moment.",
    retryAfterSeconds: 1,
  });
}

/** Returns the partner's game. Throws 404 `not_found`. */
export async function requirePartnerGame(
  { postgres }: { postgres: Postgres },
  partner: PartnerPrincipal,
  slug: string,
): Promise<PartnerGame> {
  const game = await findPartnerGame(postgres.prisma, partner.id, slug);
  if (game === null) throw noSuchGame(slug);
  return game;
}

/** Returns the 404 for a game that is unknown, deleted or another partner's. */
export function noSuchGame(slug: string): DomainError {
  return notFound(`There is no game ${slug}.`);
}

/** Returns whether the change depends on the current state: names in the archive, or the declared memory. */
function dependsOnGame({ launcher, engineDir, resources }: PatchGameRequest): boolean {
  return launcher !== undefined || engineDir !== undefined || resources !== undefined;
}

function checkAgainstArchive(
  { currentVersion }: PartnerGame,
  { launcher, engineDir }: PatchGameRequest,
): void {
  if (currentVersion === null) return;
  const { rootFiles, rootDirectories } = currentVersion;
  if (launcher !== undefined && !rootFiles.includes(launcher))
    throw missingAtRoot(`file ${launcher}`, rootFiles, "the launcher");
  if (engineDir !== undefined && !rootDirectories.includes(engineDir))
    throw missingAtRoot(`directory ${engineDir}`, rootDirectories, "engineDir");
}

function missingAtRoot(what: string, known: readonly string[], field: string): DomainError {
  const { rootNames } = limits.archive;
  const message =
    known.length < rootNames
      ? `The game's archive has no ${what} at its root: upload an archive that has it, or keep ${field}.`
      : `The game's archive has no ${what} among the first ${rootNames} at its root, and only these are recorded: pack it before the others and upload it again, or keep ${field}.`;
  return new DomainError("invalid_archive", { message });
}

/**
 * Returns the changes of columns. Null empties an optional field: to null where the column allows it, to an
 * empty text or list elsewhere.
 */
function changesOf({
  title,
  developer,
  launcher,
  engineDir,
  description,
  tags,
  screenshots,
  languages,
  releaseDate,
  ...rest
}: PatchGameRequest): Partial<GameMetadata> {
  return {
    ...(title !== undefined && { title }),
    ...(developer !== undefined && { developer }),
    ...(launcher !== undefined && { launcher }),
    ...(engineDir !== undefined && { engineDir }),
    ...(description !== undefined && { description: description ?? "" }),
    ...(tags !== undefined && { tags: tags ?? [] }),
    ...(screenshots !== undefined && { screenshots: screenshots ?? [] }),
    ...(languages !== undefined && { languages: languages ?? [] }),
    ...(releaseDate !== undefined && { releaseDate: releaseDate === null ? null : new Date(releaseDate) }),
    ...(rest.thumbnail !== undefined && { thumbnail: rest.thumbnail }),
    ...(rest.contentRating !== undefined && { contentRating: rest.contentRating }),
    ...(rest.website !== undefined && { website: rest.website }),
    ...publishingChangesOf(rest),
    ...sessionChangesOf(rest),
  };
}

/** Returns the changes of the columns that say who gets the game and its uploads. */
function publishingChangesOf({ visibility, autoActivate, verify }: PatchGameRequest): Partial<GameMetadata> {
  return {
    ...(visibility !== undefined && { visibility: visibility ?? "public" }),
    ...(autoActivate !== undefined && { autoActivate: autoActivate ?? true }),
    ...(verify !== undefined && { verify }),
  };
}

/** Returns the changes of the columns that only sessions read. */
function sessionChangesOf({
  network,
  saveLimitMb,
  stopGraceSeconds,
  resources,
}: PatchGameRequest): Partial<GameMetadata> {
  return {
    ...(resources !== undefined && declaredResourcesOf(resources)),
    ...(network !== undefined && { network: network ?? "none" }),
    ...(saveLimitMb !== undefined && { saveLimitMb }),
    ...(stopGraceSeconds !== undefined && { stopGraceSeconds }),
  };
}

/** A session that ran out of memory under another declaration says nothing about this one. */
function memoryFloorOf(
  { memoryMb }: PartnerGame,
  changes: Partial<GameMetadata>,
): { profileMemoryFloorMb?: null } {
  return changes.memoryMb === undefined || changes.memoryMb === memoryMb
    ? {}
    : { profileMemoryFloorMb: null };
}

/** Dependencies of deleting a game. */
export interface DeleteGameDeps extends SyncGameCachesDeps {
  audit: Audit;
}

/**
 * Deletes a game. No new session can start; running ones continue with their files. Its slug stays reserved
 * for 90 days.
 *
 * @throws not_found, precondition_failed
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
  // If this fails, the leader's next pass does it.
  await syncGameCache(deps, id).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, game: slug },
      "The API could not remove the GameCache of a deleted game yet; it will retry.",
    );
  });
}

/** Dependencies of restoring a game. */
export interface RestoreGameDeps extends SyncGameCachesDeps {
  postgres: Postgres;
  audit: Audit;
}

/**
 * Restores a game that was deleted within the last 90 days, with its archive, and returns it. A no-op for a
 * game that is not deleted.
 *
 * @throws not_found, conflict when the partner has reached the limit of games
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
  // If this fails, the leader's next pass does it.
  await syncGameCache(deps, restoredId).catch((error: unknown) => {
    deps.logger.warn(
      { err: error, game: slug },
      "The API could not write the GameCache of a restored game yet; it will retry.",
    );
  });
  return game;
}

/** Network access that the site allows games. */
export interface NetworkConfig {
  /** Whether games with network access can be registered and launched. */
  isInternetAllowed: boolean;
}

/**
 * Checks the requested network access.
 *
 * @throws invalid_request when the site does not allow it
 */
export function checkNetwork(
  { isInternetAllowed }: NetworkConfig,
  { network }: { network?: string | null | undefined },
): void {
  if (network !== "internet" || isInternetAllowed) return;
  throw invalidRequest(
    "This site does not allow network access for games. An admin can allow it with the chart value games.network.",
    [{ path: "network", message: "must be none, unless an admin sets games.network to internet" }],
  );
}

/**
 * Checks the partner's limit of games, which bounds the list response. The transaction must have locked the
 * partner's games, or concurrent requests would all take the last place.
 *
 * @throws conflict when the limit is reached
 */
export async function requireRoom(
  transaction: Queryable,
  partner: Pick<PartnerPrincipal, "id">,
): Promise<void> {
  if ((await countPartnerGames(transaction, partner.id)) < limits.partner.games) return;
  throw new DomainError("conflict", {
    message: `You have reached the limit of ${limits.partner.games} games. Delete one first.`,
  });
}

/** Returns the audit event for a partner's change to one of their games. */
export function gameAuditEvent(
  action: `game.${string}`,
  partner: PartnerPrincipal,
  gameId: string,
  details?: AuditEvent["details"],
): AuditEvent {
  const event = {
    action,
    actor: { kind: "partner", id: partner.id },
    ...partner.request,
    subject: { kind: "game", id: gameId },
  } as const;
  return details === undefined ? event : { ...event, details };
}
