import {
  AddTestersRequest,
  CreatedPlayLink,
  CreatePlayLinkRequest,
  defaultChannel,
  GameChannel,
  GameChannelParams,
  GameChannelsResponse,
  GameTestersResponse,
  OpenedPlayLink,
  OpenPlayLinkRequest,
  type PlayLink,
  PlayLinkParams,
  PlayLinksResponse,
  SetChannelRequest,
  TesterParams,
} from "#contracts/http/gameChannels.ts";
import { PartnerGameParams } from "#contracts/http/partners.ts";
import { limits as allLimits } from "#contracts/limits.ts";
import { type UserDeps, userRouteFor } from "../../auth/requireUser.ts";
import { notFound } from "../../errors.ts";
import { respondCacheable } from "../../http/respondCacheable.ts";
import { cacheable, empty, json } from "../../http/responses.ts";
import type { Route } from "../../http/route.ts";
import { partnerRouteFor, type PartnerDeps, type PartnerPrincipal } from "../../partners/requirePartner.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { listChannels } from "../channelQueries.ts";
import { findPartnerGame } from "../partnerGameQueries.ts";
import { gameAuditEvent, noSuchGame } from "../updateGame.ts";
import {
  addTesters,
  createPlayLink,
  openPlayLink,
  removeChannel,
  setChannel,
  type ChannelDeps,
} from "./changeChannels.ts";
import {
  deletePlayLink,
  deleteTester,
  listPlayLinks,
  listTesters,
  type ListedPlayLink,
  type ListedTester,
} from "./testerQueries.ts";

/** Dependencies of these routes. */
type ChannelsDeps = PartnerDeps & UserDeps & ChannelDeps & { config: { baseUrl: string } };

const route = partnerRouteFor<ChannelsDeps>();
const userRoute = userRouteFor<ChannelsDeps>();
const gamePath = "/api/partners/games/:slug";
const limits = ["partner"] as const;
const params = PartnerGameParams;

const list = route({
  method: "GET",
  path: `${gamePath}/channels`,
  name: "listGameChannels",
  summary: "List a game's channels",
  limits,
  params,
  headers: ["If-None-Match"],
  responses: cacheable(GameChannelsResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    const id = await findGameId(deps, partner, slug);
    const channels = (await listChannels(deps.postgres.pool, id)).map(({ name, versionId }) => ({
      name,
      gameVersionId: versionId,
    }));
    respondCacheable(ctx, { channels } satisfies GameChannelsResponse);
  },
});

const set = route({
  method: "PUT",
  path: `${gamePath}/channels/:channel`,
  name: "setGameChannel",
  summary: "Set the version of a channel",
  limits,
  params: GameChannelParams,
  body: SetChannelRequest,
  description: `Creates the channel if necessary; a game has at most ${allLimits.partner.channels} besides \`default\`. Only invited players can play another channel than \`default\`.`,
  responses: { 200: json(GameChannel) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { slug, channel }, body: { gameVersionId } }) => {
    await setChannel(deps, partner, { slug, channel }, gameVersionId);
    ctx.body = { name: channel, gameVersionId } satisfies GameChannel;
  },
});

const remove = route({
  method: "DELETE",
  path: `${gamePath}/channels/:channel`,
  name: "deleteGameChannel",
  summary: "Remove a channel",
  limits,
  params: GameChannelParams,
  description: "Its testers and links are removed as well. Running sessions continue.",
  responses: { 204: empty("The game has no such channel any longer.") },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { slug, channel } }) => {
    await removeChannel(deps, partner, { slug, channel });
    ctx.status = 204;
  },
});

const testers = route({
  method: "GET",
  path: `${gamePath}/testers`,
  name: "listGameTesters",
  summary: "List a game's testers",
  limits,
  params,
  headers: ["If-None-Match"],
  responses: cacheable(GameTestersResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    const id = await findGameId(deps, partner, slug);
    respondCacheable(ctx, presentTesters(await listTesters(deps.postgres.pool, id)));
  },
});

const invite = route({
  method: "POST",
  path: `${gamePath}/testers`,
  name: "addGameTesters",
  summary: "Open a channel to players",
  limits,
  params,
  body: AddTestersRequest,
  description:
    "By the addresses of their accounts, which have to be confirmed. The response does not say whether there are such accounts. " +
    "With the channel `default`, a private game is open to them. Idempotent.",
  responses: { 200: json(GameTestersResponse) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { slug }, body: { emails, channel = defaultChannel } }) => {
    const id = await addTesters(deps, partner, { slug, channel }, emails);
    ctx.body = presentTesters(await listTesters(deps.postgres.pool, id));
  },
});

const uninvite = route({
  method: "DELETE",
  path: `${gamePath}/testers/:testerId`,
  name: "removeGameTester",
  summary: "Close a channel to a tester",
  limits,
  params: TesterParams,
  responses: { 204: empty("The channel is not open to the tester any longer.") },
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug, testerId } }) => {
    const id = await findGameId(deps, partner, slug);
    if (!(await deleteTester(deps.postgres.pool, id, testerId)))
      throw notFound("The game has no such tester.");
    await deps.audit.record(gameAuditEvent("game.testerRemoved", partner, id, { tester: testerId }));
    ctx.status = 204;
  },
});

const links = route({
  method: "GET",
  path: `${gamePath}/play-links`,
  name: "listPlayLinks",
  summary: "List a game's play links",
  limits,
  params,
  headers: ["If-None-Match"],
  responses: cacheable(PlayLinksResponse),
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug } }) => {
    const id = await findGameId(deps, partner, slug);
    respondCacheable(ctx, { links: (await listPlayLinks(deps.postgres.pool, id)).map(presentLink) });
  },
});

const createLink = route({
  method: "POST",
  path: `${gamePath}/play-links`,
  name: "createPlayLink",
  summary: "Create a play link",
  limits,
  params,
  body: CreatePlayLinkRequest,
  description: `Everyone who has the link and an account can play the channel until it expires. At most ${allLimits.partner.playLinkPlayers} players can open it.`,
  responses: { 201: json(CreatedPlayLink) },
  errors: ["conflict"],
  handle: async ({ ctx, deps, partner, params: { slug }, body }) => {
    const { channel = defaultChannel, hours = allLimits.partner.playLinkHours } = body;
    const { link, token } = await createPlayLink(deps, partner, { slug, channel }, hours);
    ctx.status = 201;
    ctx.body = {
      ...presentLink(link),
      url: `${deps.config.baseUrl}/playtest#${token}`,
    } satisfies CreatedPlayLink;
  },
});

const removeLink = route({
  method: "DELETE",
  path: `${gamePath}/play-links/:linkId`,
  name: "deletePlayLink",
  summary: "Remove a play link",
  limits,
  params: PlayLinkParams,
  description: "Closes the channel to everyone who opened the link. Running sessions continue.",
  responses: { 204: empty("The link opens nothing any longer.") },
  errors: [],
  handle: async ({ ctx, deps, partner, params: { slug, linkId } }) => {
    const id = await findGameId(deps, partner, slug);
    if (!(await deletePlayLink(deps.postgres.pool, id, linkId))) throw notFound("The game has no such link.");
    await deps.audit.record(gameAuditEvent("game.playLinkRemoved", partner, id, { link: linkId }));
    ctx.status = 204;
  },
});

const open = userRoute({
  method: "POST",
  path: "/api/play-links",
  name: "openPlayLink",
  summary: "Open a play link",
  limits: ["catalog"],
  body: OpenPlayLinkRequest,
  description: "The link's channel is open to the player until the link expires. Idempotent.",
  responses: { 200: json(OpenedPlayLink) },
  errors: ["not_found", "conflict"],
  handle: async ({ ctx, deps, user, body: { linkToken } }) => {
    ctx.body = await openPlayLink(deps, user.id, linkToken);
  },
});

/** Routes for channels, testers and play links. */
export const channelRoutes: readonly Route<ChannelsDeps>[] = [
  list,
  set,
  remove,
  testers,
  invite,
  uninvite,
  links,
  createLink,
  removeLink,
  open,
];

async function findGameId(
  { postgres }: { postgres: Postgres },
  partner: PartnerPrincipal,
  slug: string,
): Promise<string> {
  const game = await findPartnerGame(postgres.prisma, partner.id, slug);
  if (game === null) throw noSuchGame(slug);
  return game.id;
}

function presentTesters(rows: readonly ListedTester[]): GameTestersResponse {
  return {
    testers: rows.map(({ id, email, channel, createdAt }) => ({
      id,
      email,
      channel,
      addedAt: createdAt.toISOString(),
    })),
  };
}

function presentLink({ id, channel, createdAt, expiresAt, players }: ListedPlayLink): PlayLink {
  return {
    id,
    channel,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    players,
  };
}
