import type { PatchGameRequest } from "#contracts/http/partners.ts";
import { limits } from "#contracts/limits.ts";
import type { Audit } from "../audit/audit.ts";
import { DomainError, notFound } from "../errors.ts";
import { gameAuditEvent } from "./gameAuditEvent.ts";
import type { GamePrecondition } from "./gameEtag.ts";
import { checkResources, declaredResourcesOf } from "./declaredResources.ts";
import { checkNetwork, type NetworkConfig } from "./networkRule.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import {
  findPartnerGame,
  updatePartnerGame,
  type GameMetadata,
  type PartnerGame,
} from "./partnerGameQueries.ts";
import type { SiteResources } from "./siteResources.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What a change of a game needs. */
export interface UpdateGameDeps {
  config: NetworkConfig & { siteResources: SiteResources };
  postgres: Postgres;
  audit: Audit;
}

/** Each further attempt means that another change of the game has come between reading and writing. */
const attemptsMax = 100;

/**
 * Changes the given fields of a game and leaves the others: of changes at once, all are carried out. Throws
 * invalid_request for a network that the site does not allow or more resources than it gives, not_found,
 * precondition_failed, conflict when others get in between every time, and invalid_archive when launcher or
 * engineDir are not in the game's archive.
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
    message: "The game is being changed by others all the time: try again in a moment.",
    retryAfterSeconds: 1,
  });
}

/** Returns the 404 for a game that is unknown, deleted or another partner's. */
export function noSuchGame(slug: string): DomainError {
  return notFound(`There is no game ${slug}.`);
}

/**
 * Whether what is written depends on what was read: whether the archive has these names, or whether the
 * declared memory is another one.
 */
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
    throw notAtRoot(`file ${launcher}`, rootFiles, "the launcher");
  if (engineDir !== undefined && !rootDirectories.includes(engineDir))
    throw notAtRoot(`directory ${engineDir}`, rootDirectories, "engineDir");
}

function notAtRoot(what: string, known: readonly string[], field: string): DomainError {
  const { rootNames } = limits.archive;
  const message =
    known.length < rootNames
      ? `The game's archive has no ${what} at its root: upload one that has, or keep ${field}.`
      : `The game's archive has no ${what} among the first ${rootNames} at its root, which are all that is known of it: pack that one before them and upload it again, or keep ${field}.`;
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
    ...sessionChangesOf(rest),
  };
}

/** Returns the changes of the columns that only sessions read. */
function sessionChangesOf({ network, saveLimitMb, resources }: PatchGameRequest): Partial<GameMetadata> {
  return {
    ...(resources !== undefined && declaredResourcesOf(resources)),
    ...(network !== undefined && { network: network ?? "none" }),
    ...(saveLimitMb !== undefined && { saveLimitMb }),
  };
}

/** A session that ran out of memory under another declaration says nothing of this one. */
function memoryFloorOf(
  { memoryMb }: PartnerGame,
  changes: Partial<GameMetadata>,
): { profileMemoryFloorMb?: null } {
  return changes.memoryMb === undefined || changes.memoryMb === memoryMb
    ? {}
    : { profileMemoryFloorMb: null };
}
