import type { RegisterGameRequest } from "#contracts/http/partners.ts";
import type { Audit } from "../audit/audit.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import type { Game } from "../generated/client.ts";
import { gameAuditEvent } from "./gameAuditEvent.ts";
import { checkResources, declaredResourcesOf } from "./declaredResources.ts";
import { checkNetwork, type NetworkConfig } from "./networkRule.ts";
import { slugOf } from "./slugs.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import { insertPartnerGame, isUniqueViolation, type GameMetadata } from "./partnerGameQueries.ts";
import type { SiteResources } from "./siteResources.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What a change of a game needs. */
export interface RegisterGameDeps {
  config: NetworkConfig & { siteResources: SiteResources };
  postgres: Postgres;
  audit: Audit;
}

/**
 * Registers a game, which then waits for its archive. Throws invalid_request for a network that the site does not allow or more resources than
 * it gives, and conflict when the slug is taken.
 */
export async function registerGame(
  { postgres, audit, config }: RegisterGameDeps, partner: PartnerPrincipal, { slug: wanted, ...request }: RegisterGameRequest,
): Promise<Game> {
  checkNetwork(config, request);
  checkResources(config, request);
  const slug = wanted ?? slugOf(request.title);
  if (slug === undefined) throw invalidRequest("No slug can be made from this title: give one.", [{ path: "slug", message: "is required for this title" }]);
  try {
    const game = await insertPartnerGame(postgres.prisma, partner.id, { slug, ...metadataOf(request) });
    await audit.record(gameAuditEvent("game.registered", partner, game.id));
    return game;
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new DomainError("conflict", { message: `The slug ${slug} is taken: choose another one.`, cause: error });
  }
}

function metadataOf({ title, developer, launcher, engineDir, releaseDate, resources, ...optional }: Omit<RegisterGameRequest, "slug">): GameMetadata {
  return {
    title, developer, launcher, engineDir, ...withoutUndefined(optional),
    ...(releaseDate === undefined ? {} : { releaseDate: new Date(releaseDate) }),
    ...(resources === undefined ? {} : declaredResourcesOf(resources)),
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}
