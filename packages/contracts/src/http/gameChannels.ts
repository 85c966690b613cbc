import { z } from "zod";
import { limits } from "../limits.ts";
import { isoMoment, opaqueId, requiredLine, slug } from "./text.ts";

const { partner, auth } = limits;

/** The channel that players get unless they are invited to another one. */
export const defaultChannel = "default";

export const channelName = z
  .string()
  .max(32)
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, "must be a-z, 0-9 and inner dashes")
  .meta({
    description: "A channel of a game. `default` is what players get.",
    examples: ["beta"],
  });

/** Fields of a launch about the game's version. */
export const launchVersion = {
  channel: channelName.optional().meta({
    description:
      "The channel to play, for players who are invited to it. If absent, `default`, or an open channel of a game without it.",
  }),
  acceptsOlderVersion: z.boolean().optional().meta({
    description:
      "Whether to continue a save that a newer version of the game wrote. Otherwise the response is `newer_save`.",
  }),
};

const versionId = z.string().meta({ examples: ["0f6b2c1e-8d4a-4c55-9f0e-3f1b7a9c2d10"] });

export const GameChannel = z
  .object({
    name: channelName,
    gameVersionId: versionId.nullable().meta({
      description: "The version that it leads to. Null for `default` until a version is activated.",
    }),
  })
  .meta({ id: "GameChannel", description: "A channel of a game." });
export type GameChannel = z.infer<typeof GameChannel>;

export const GameChannelsResponse = z
  .object({ channels: z.array(GameChannel).max(partner.channels + 1) })
  .meta({ id: "GameChannels", description: "The channels of a game, `default` first." });
export type GameChannelsResponse = z.infer<typeof GameChannelsResponse>;

export const SetChannelRequest = z
  .strictObject({
    gameVersionId: opaqueId.meta({ description: "The version that it leads to from now on." }),
  })
  .meta({ id: "SetChannelRequest" });
export type SetChannelRequest = z.infer<typeof SetChannelRequest>;

export const GameChannelParams = z.object({ slug, channel: channelName });

const id = z.string().meta({ examples: ["7c1d2b0e-31a7-4b52-a1c4-5f2f0a8f9e11"] });

export const GameTester = z
  .object({
    id,
    email: z.string().meta({ examples: ["ada@example.org"] }),
    channel: channelName,
    addedAt: isoMoment,
  })
  .meta({ id: "GameTester", description: "A player to whom a channel is open." });
export type GameTester = z.infer<typeof GameTester>;

export const GameTestersResponse = z
  .object({ testers: z.array(GameTester).max(partner.testers) })
  .meta({ id: "GameTesters", description: "The testers of a game, by channel and address." });
export type GameTestersResponse = z.infer<typeof GameTestersResponse>;

export const AddTestersRequest = z
  .strictObject({
    emails: z
      .array(requiredLine(auth.emailMaxLength))
      .min(1)
      .max(100)
      .meta({
        description: "Addresses of accounts, which may not exist yet.",
        examples: [["ada@example.org"]],
      }),
    channel: channelName.optional().meta({ description: "`default` if it is absent." }),
  })
  .meta({ id: "AddTestersRequest" });
export type AddTestersRequest = z.infer<typeof AddTestersRequest>;

export const TesterParams = z.object({ slug, testerId: opaqueId });

export const PlayLink = z
  .object({
    id,
    channel: channelName,
    createdAt: isoMoment,
    expiresAt: isoMoment,
    players: z
      .int()
      .min(0)
      .meta({ description: "Players who have opened it.", examples: [3] }),
  })
  .meta({ id: "PlayLink", description: "A link that opens a channel to players who have it." });
export type PlayLink = z.infer<typeof PlayLink>;

export const PlayLinksResponse = z
  .object({ links: z.array(PlayLink).max(partner.playLinks) })
  .meta({ id: "PlayLinks", description: "The links that have not expired, newest first." });
export type PlayLinksResponse = z.infer<typeof PlayLinksResponse>;

export const CreatePlayLinkRequest = z
  .strictObject({
    channel: channelName.optional().meta({ description: "`default` if it is absent." }),
    hours: z
      .int()
      .min(1)
      .max(partner.playLinkHoursMax)
      .optional()
      .meta({ description: "How long it is valid. A week if it is absent.", examples: [72] }),
  })
  .meta({ id: "CreatePlayLinkRequest" });
export type CreatePlayLinkRequest = z.infer<typeof CreatePlayLinkRequest>;

export const CreatedPlayLink = PlayLink.extend({
  url: z.string().meta({
    description: "Its address, which is shown only once. The part after `#` never reaches a server's log.",
    examples: ["https://joypod.example/playtest#Qw8…"],
  }),
}).meta({ id: "CreatedPlayLink", description: "A new link, with its address." });
export type CreatedPlayLink = z.infer<typeof CreatedPlayLink>;

export const PlayLinkParams = z.object({ slug, linkId: opaqueId });

/** `POST /api/play-links`. */
export const OpenPlayLinkRequest = z
  .strictObject({
    linkToken: opaqueId.meta({
      description: "The part after `#` in the link's address.",
      examples: ["3q2-7wAB"],
    }),
  })
  .meta({ id: "OpenPlayLinkRequest" });
export type OpenPlayLinkRequest = z.infer<typeof OpenPlayLinkRequest>;

export const OpenedPlayLink = z
  .object({ gameSlug: slug, channel: channelName })
  .meta({ id: "OpenedPlayLink", description: "The game is open to the player until the link expires." });
export type OpenedPlayLink = z.infer<typeof OpenedPlayLink>;
