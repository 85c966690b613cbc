import type { RegisterGameRequest } from "#contracts/http/partners.ts";
import type { Audit } from "../audit/audit.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import { gameAuditEvent, checkNetwork, type NetworkConfig, requireRoom } from "./updateGame.ts";
import { checkResources, declaredResourcesOf, type SiteResources } from "./siteResources.ts";
import { checkVerify, type VerifyConfig } from "./siteVerify.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import {
  insertPartnerGame,
  lockPartnerGames,
  type GameMetadata,
  type InsertedGame,
} from "./partnerGameQueries.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { slug } from "#contracts/http/text.ts";

/** Dependencies of registering a game. */
export interface RegisterGameDeps {
  config: NetworkConfig & VerifyConfig & { siteResources: SiteResources };
  postgres: Postgres;
  audit: Audit;
}

/**
 * Registers a game, which then waits for its archive. `inTransaction` runs in the same transaction.
 *
 * @throws invalid_request for a network or resources that the site does not allow, conflict when the slug is
 *   taken, the partner has reached the limit of games, or the site does not verify games
 */
export async function registerGame(
  { postgres, audit, config }: RegisterGameDeps,
  partner: PartnerPrincipal,
  { slug: wanted, ...request }: RegisterGameRequest,
  inTransaction?: (game: InsertedGame, transaction: Queryable) => Promise<void>,
): Promise<InsertedGame> {
  checkNetwork(config, request);
  checkResources(config, request);
  checkVerify(config, request);
  const slug = wanted ?? deriveSlug(request.title);
  if (slug === undefined)
    throw invalidRequest("No slug can be derived from this title. Specify one.", [
      { path: "slug", message: "is required for this title" },
    ]);
  const game = await postgres.transaction(async (transaction) => {
    await lockPartnerGames(transaction, partner.id);
    await requireRoom(transaction, partner);
    const inserted = await insertPartnerGame(transaction, partner.id, { slug, ...metadataOf(request) });
    if (inserted === undefined)
      throw new DomainError("conflict", { message: `The slug ${slug} is taken. Choose another one.` });
    await inTransaction?.(inserted, transaction);
    return inserted;
  });
  await audit.record(gameAuditEvent("game.registered", partner, game.id));
  return game;
}

function metadataOf({
  title,
  developer,
  launcher,
  engineDir,
  releaseDate,
  resources,
  ...optional
}: Omit<RegisterGameRequest, "slug">): GameMetadata {
  return {
    title,
    developer,
    launcher,
    engineDir,
    ...withoutUndefined(optional),
    ...(releaseDate === undefined ? {} : { releaseDate: new Date(releaseDate) }),
    ...(resources === undefined ? {} : declaredResourcesOf(resources)),
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

const maxLength = 63;

/**
 * Returns a slug derived from a title: its ASCII letters and digits, with dashes for the rest; undefined when
 * too little is left.
 */
export function deriveSlug(title: string): string | undefined {
  const words = title
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/['’]/g, "")
    .replace(/[^a-z0-9]+/g, "-");
  return slug.safeParse(
    words
      .slice(0, maxLength + 1)
      .replace(/^-+/, "")
      .slice(0, maxLength)
      .replace(/-+$/, ""),
  ).data;
}
