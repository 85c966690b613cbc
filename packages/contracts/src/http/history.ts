import { z } from "zod";
import { limits } from "../limits.ts";
import { pageNumber } from "./catalog.ts";
import { GameSessionEndReason, PublicGameSessionStatus } from "./gameSessions.ts";
import { isoMoment, slug } from "./text.ts";

const { history } = limits;

const page = pageNumber.default(1).meta({
  description: "Page number, from 1. Pages past the end are empty.",
  override: { default: 1 },
});

function pageSize(items: string) {
  return pageNumber
    .transform((size) => Math.min(size, history.pageSizeMax))
    .default(history.pageSizeDefault)
    .meta({
      description: `${items} per page. Larger values are lowered to ${history.pageSizeMax}.`,
      override: { default: history.pageSizeDefault },
    });
}

/** Query of the player's history, as strings. */
export const HistoryQuery = z.strictObject({
  game: slug.optional().meta({ description: "The slug of a game, to list only its sessions." }),
  page,
  limit: pageSize("Sessions"),
});
export type HistoryQuery = z.infer<typeof HistoryQuery>;

/** Query of the play time per game, as strings. */
export const PlayTimeQuery = z.strictObject({ page, limit: pageSize("Games") });
export type PlayTimeQuery = z.infer<typeof PlayTimeQuery>;

const pagination = z.object({
  page: z.int().min(1),
  limit: z.int().min(1).max(history.pageSizeMax),
  total: z.int().min(0).meta({ description: "Number of items on all pages." }),
  totalPages: z.int().min(0).meta({ description: "0 when there is no item." }),
});

const playSeconds = z
  .number()
  .min(0)
  .meta({ description: "Total duration of the player's ended sessions, in seconds.", examples: [5_430] });

export const HistoryGame = z
  .object({
    slug: z.string().meta({ examples: ["moonlight-drift"] }),
    title: z.string().meta({ examples: ["Moonlight Drift"] }),
    thumbnail: z.string().meta({ description: "Address of a picture, or empty." }),
    isAvailable: z.boolean().meta({ description: "Whether the game is in the catalogue." }),
  })
  .meta({ id: "HistoryGame", description: "A game that the player has played." });
export type HistoryGame = z.infer<typeof HistoryGame>;

export const PlayedSession = z
  .object({
    sessionId: z.string().meta({ examples: ["gs-7k2m9q4x1v8c"] }),
    game: HistoryGame,
    status: PublicGameSessionStatus,
    startedAt: isoMoment,
    endedAt: isoMoment.nullable().meta({ description: "Null until the session has ended." }),
    playSeconds: z
      .number()
      .min(0)
      .nullable()
      .meta({
        description: "How long the game could be played, in seconds. Null until the session has ended.",
        examples: [1834.5],
      }),
    endReason: GameSessionEndReason.optional().meta({ description: "Since `stopping`." }),
    message: z.string().optional().meta({
      description: "A message about the end, if the player did not request it.",
    }),
    saveNotice: z.string().optional().meta({
      description: "A message for the player, if the newest progress was not saved or may be incomplete.",
    }),
    slot: z
      .object({
        id: z.string(),
        slotNumber: z.int().min(1).max(limits.saveSlotsPerGame),
        label: z.string(),
      })
      .nullable()
      .meta({ description: "The save slot of the session. Null if the slot has been deleted." }),
  })
  .meta({ id: "PlayedSession", description: "One session in the player's history." });
export type PlayedSession = z.infer<typeof PlayedSession>;

export const HistoryResponse = z
  .object({
    sessions: z.array(PlayedSession).meta({ description: "The newest session first." }),
    playSeconds: playSeconds.meta({
      description: "Total duration of the listed sessions on all pages, in seconds.",
    }),
    pagination,
  })
  .meta({ id: "History", description: "A page of the player's sessions." });
export type HistoryResponse = z.infer<typeof HistoryResponse>;

export const PlayTimeResponse = z
  .object({
    games: z
      .array(
        z.object({
          game: HistoryGame,
          sessions: z.int().min(1),
          playSeconds,
          lastPlayedAt: isoMoment,
        }),
      )
      .meta({ description: "The game with the longest play time first." }),
    pagination,
  })
  .meta({ id: "PlayTime", description: "A page of the player's games with their play times." });
export type PlayTimeResponse = z.infer<typeof PlayTimeResponse>;
