import { z } from "zod";
import { limits } from "../limits.ts";
import { channelName } from "./gameChannels.ts";
import { isoMoment, name, opaqueId, slug } from "./text.ts";

const { catalog } = limits;

/** Positive integers in plain digits. Coercion would also accept `1e3`, `0x10` and arrays. */
export const pageNumber = z
  .string()
  .regex(/^\d{1,6}$/, "must be a whole number")
  .transform(Number)
  .pipe(z.int().min(1))
  .meta({
    override: ({ jsonSchema }: { jsonSchema: { pattern?: unknown } }) => {
      delete jsonSchema.pattern;
      Object.assign(jsonSchema, { type: "integer", minimum: 1, maximum: 999_999 });
    },
  });

/** Query of `GET /api/games`, as strings. A `limit` above the maximum is lowered to it. */
export const GamesQuery = z.strictObject({
  page: pageNumber.default(catalog.pageDefault).meta({
    description: "Page number, from 1. Pages past the end are empty.",
    override: { default: catalog.pageDefault },
  }),
  limit: pageNumber
    .transform((size) => Math.min(size, catalog.pageSizeMax))
    .default(catalog.pageSizeDefault)
    .meta({
      description: `Games per page. Larger values are lowered to ${catalog.pageSizeMax}.`,
      override: { default: catalog.pageSizeDefault },
    }),
  search: name(catalog.searchMaxLength)
    .optional()
    .meta({
      description: "Part of the title or of the developer's name, ignoring case.",
      examples: ["moon"],
    }),
  tag: name(catalog.searchMaxLength)
    .optional()
    .meta({ description: "A whole tag, ignoring case.", examples: ["racing"] }),
  favorites: z
    .enum(["true", "false"])
    .transform((text) => text === "true")
    .optional()
    .meta({ description: "`true` returns only the player's favourites.", examples: ["true"] }),
  sort: z
    .enum(["title", "createdAt", "popular", "lastPlayed"])
    .default("title")
    .meta({
      description: `\`popular\` counts the launches of the last ${catalog.popularWindowDays} days, \`lastPlayed\` is the time when the player last played the game. Ties are sorted by title. With \`lastPlayed\`, games that the player has never played come last in either order.`,
    }),
  order: z
    .enum(["asc", "desc"])
    .default("asc")
    .meta({ description: "Ascending or descending, for every sort." }),
});
export type GamesQuery = z.infer<typeof GamesQuery>;

/** What a player has played of a game. */
export const PlayedGame = z
  .object({
    lastPlayedAt: isoMoment,
    playSeconds: z
      .number()
      .min(0)
      .meta({ description: "Total duration of the player's sessions, in seconds.", examples: [5_430] }),
    slot: z
      .object({ id: z.string(), slotNumber: z.int().min(1).max(limits.saveSlotsPerGame) })
      .nullable()
      .meta({ description: "The slot that was played last. Null if the game has no used slot." }),
  })
  .meta({ id: "PlayedGame", description: "What the player has played of a game." });
export type PlayedGame = z.infer<typeof PlayedGame>;

export const GameListItem = z
  .object({
    id: z.string().meta({ examples: ["cm3qk1x2v0001"] }),
    slug: z.string().meta({ examples: ["moonlight-drift"] }),
    title: z.string().meta({ examples: ["Moonlight Drift"] }),
    developer: z.string().meta({ examples: ["Night Studio"] }),
    description: z
      .string()
      .meta({ description: "May be empty.", examples: ["Drive until the sun comes up."] }),
    tags: z.array(z.string()).meta({ examples: [["racing", "indie"]] }),
    thumbnail: z.string().meta({
      description: "Address of a picture, or empty.",
      examples: ["https://images.example.org/moonlight-drift.jpg"],
    }),
    releaseDate: z.string().meta({ description: "`YYYY-MM-DD`, or empty.", examples: ["2026-10-31"] }),
    isFavorite: z.boolean().meta({ description: "Whether it is a favourite of the player." }),
    played: PlayedGame.nullable().optional().meta({
      description:
        "Only in lists with `favorites=true` or `sort=lastPlayed`. Null if the player has never played the game.",
    }),
  })
  .meta({ id: "Game", description: "A game in the catalogue." });
export type GameListItem = z.infer<typeof GameListItem>;

export const GamesResponse = z
  .object({
    games: z.array(GameListItem),
    pagination: z.object({
      page: z.int().min(1),
      limit: z.int().min(1).max(catalog.pageSizeMax),
      total: z.int().min(0).meta({ description: "Number of games on all pages." }),
      totalPages: z.int().min(0).meta({ description: "0 when there is no game." }),
    }),
  })
  .meta({ id: "Games", description: "A page of the catalogue." });
export type GamesResponse = z.infer<typeof GamesResponse>;

/** One of a game's three slots. The three nullable fields are null together if the slot is empty. */
export const SaveSlot = z
  .object({
    id: z
      .string()
      .nullable()
      .meta({
        description: "Identifies the slot in a launch. Null for an empty slot.",
        examples: ["cm3qk1x2v0002"],
      }),
    slotNumber: z.int().min(1).max(limits.saveSlotsPerGame),
    label: z.string().nullable(),
    lastPlayedAt: isoMoment.nullable(),
  })
  .meta({
    id: "SaveSlot",
    description: "A save slot of a game. All three nullable fields are null if the slot is empty.",
  });
export type SaveSlot = z.infer<typeof SaveSlot>;

export const GameDetail = GameListItem.omit({ played: true })
  .extend({
    screenshots: z.array(z.string()).meta({ description: "Addresses of pictures.", examples: [[]] }),
    contentRating: z.string().meta({ description: "May be empty.", examples: ["PEGI 7"] }),
    languages: z.array(z.string()).meta({ description: "BCP 47 tags.", examples: [["en", "de"]] }),
    website: z.string().meta({ description: "A URL, or empty.", examples: [""] }),
    channels: z
      .array(channelName)
      .optional()
      .meta({
        description: "Only for players who are invited to other channels than `default`: what they can play.",
        examples: [["default", "beta"]],
      }),
    saveSlots: z
      .array(SaveSlot)
      .length(limits.saveSlotsPerGame)
      .meta({ description: "The player's slots, by number." }),
  })
  .meta({ id: "GameDetail", description: "The details of a game." });
export type GameDetail = z.infer<typeof GameDetail>;

export const GameParams = z.object({ slug });

export const FavoriteRequest = z.strictObject({ gameId: opaqueId }).meta({ id: "FavoriteRequest" });
export type FavoriteRequest = z.infer<typeof FavoriteRequest>;

export const FavoriteResponse = z
  .object({ status: z.enum(["added", "removed"]), gameId: z.string() })
  .meta({ id: "Favorite", description: "The result of the toggle." });
export type FavoriteResponse = z.infer<typeof FavoriteResponse>;
