import { z } from "zod";
import { launchSteps } from "../crd/launchStep.ts";
import { publicStatuses } from "../crd/sessionState.ts";
import { limits } from "../limits.ts";
import { StreamQuality, LaunchQuality } from "../streamQuality.ts";
import { GameFolder } from "../termination.ts";
import { ViewerRole } from "../viewerRole.ts";
import { launchVersion } from "./gameChannels.ts";
import { playLimitEndsAt } from "./playLimits.ts";
import { isoMoment, opaqueId } from "./text.ts";

const sessionId = z.string().meta({ examples: ["gs-7k2m9q4x1v8c"] });

export const PublicGameSessionStatus = z.enum(publicStatuses).meta({
  id: "GameSessionStatus",
  description:
    "`starting`: being prepared. `running`: the stream is available. `stopping`: saving. `stopped`: ended. `error`: failed to start.",
});

/**
 * Without a slot or a new start, the most recently played slot continues. The first launch of a game starts a
 * new playthrough.
 */
export const LaunchRequest = z
  .strictObject({
    gameSlug: opaqueId.meta({ description: "The game.", examples: ["moonlight-drift"] }),
    saveSlotId: opaqueId
      .optional()
      .meta({ description: "The save slot to continue.", examples: ["cm3qk1x2v0002"] }),
    fresh: z
      .boolean()
      .optional()
      .meta({ description: "Whether to start from scratch in the lowest empty slot." }),
    ...launchVersion,
    quality: LaunchQuality.optional().meta({
      description:
        "The stream quality. If absent, or with only `startKbps`, the account's preference applies.",
    }),
    wait: z.boolean().optional().meta({
      description:
        "Whether to wait in the queue if no seat is free, instead of `no_servers`. The session is then `starting` at the stage `queued`. Send keepalives while it waits, and confirm the seat with `POST /api/game/confirm`.",
    }),
  })
  .refine((body) => !(body.fresh === true && body.saveSlotId !== undefined), {
    path: ["fresh"],
    error: "cannot be true together with saveSlotId: either continue a save or start afresh",
  })
  .meta({
    id: "LaunchRequest",
    description:
      "Without either choice, the launch continues the most recently played slot. The first launch of a game starts in slot 1.",
  });
export type LaunchRequest = z.infer<typeof LaunchRequest>;

export const LaunchResponse = z
  .object({
    sessionId,
    status: z.literal("starting"),
    stage: z.literal("queued").optional().meta({ description: "Only if the launch waits in the queue." }),
  })
  .meta({
    id: "Launch",
    description:
      "The launch continues in the background. Poll `GET /api/game/session-status` until the status is `running`.",
  });
export type LaunchResponse = z.infer<typeof LaunchResponse>;

/** Body of keepalive and stop, and query of session-status. */
export const GameSessionRequest = z.strictObject({ sessionId: opaqueId }).meta({ id: "GameSessionRequest" });
export type GameSessionRequest = z.infer<typeof GameSessionRequest>;

/** The stages of a launch in the HTTP interface, in order. `queued` only occurs if the launch had to wait. */
export const launchStages = ["queued", ...launchSteps] as const;
export const LaunchStage = z
  .enum(launchStages)
  .meta({ id: "LaunchStage", description: "The stage of a starting session, in this order." });
export type LaunchStage = z.infer<typeof LaunchStage>;

/** A launch's place in the queue. */
export const QueuePlace = z
  .object({
    position: z
      .int()
      .min(1)
      .meta({ description: "1 is next. Never grows.", examples: [3] }),
    waitSeconds: z
      .object({ min: z.int().min(0), max: z.int().min(0) })
      .optional()
      .meta({
        description:
          "Estimated time until a seat is free; four of five waits end within it. Absent when the seat is ready.",
        examples: [{ min: 240, max: 900 }],
      }),
    confirmBy: isoMoment.optional().meta({
      description:
        "Set when a seat is ready: confirm it with `POST /api/game/confirm` by then, or the next player gets it.",
    }),
  })
  .meta({ id: "QueuePlace", description: "A launch's place in the queue." });
export type QueuePlace = z.infer<typeof QueuePlace>;

/** Why a session ended or is ending. */
export const GameSessionEndReason = z
  .enum([
    "user_requested",
    "idle_timeout",
    "max_duration",
    "maintenance",
    "drained",
    "play_limit",
    "queue_timeout",
    "game_unavailable",
    "deleted",
    "game_exited",
    "server_lost",
    "failed",
  ])
  .meta({ id: "GameSessionEndReason", description: "Why a session ended or is ending." });
export type GameSessionEndReason = z.infer<typeof GameSessionEndReason>;

/** The end of a running session that is known in advance. */
export const GameSessionEnding = z
  .object({
    reason: GameSessionEndReason.extract([
      "idle_timeout",
      "max_duration",
      "play_limit",
      "maintenance",
      "drained",
      "deleted",
    ]).meta({
      description:
        "`idle_timeout`: any input or keepalive postpones the end. `drained`: the server is taken out of service. `deleted`: an admin ends the session.",
    }),
    at: isoMoment.meta({ description: "When the session is saved and stopped." }),
    message: z.string().optional().meta({ description: "A message of the admin." }),
  })
  .meta({ id: "GameSessionEnding", description: "When and why a running session will end." });
export type GameSessionEnding = z.infer<typeof GameSessionEnding>;

export const GameSessionStatusResponse = z
  .object({
    sessionId,
    status: PublicGameSessionStatus,
    serverUrl: z
      .string()
      .nullable()
      .meta({
        description: "Base URL of the streams.",
        examples: ["https://joypod.example/api/stream"],
      }),
    containerUrl: z
      .string()
      .nullable()
      .meta({
        description: "URL for the WebRTC offer (WHEP). Null unless the session is `running`.",
        examples: ["https://joypod.example/api/stream/gs-7k2m9q4x1v8c"],
      }),
    gameTitle: z.string().meta({ examples: ["Moonlight Drift"] }),
    startedAt: isoMoment,
    stage: LaunchStage.optional().meta({ description: "Only while `starting`." }),
    progressPercent: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .meta({ description: "Progress of the download, while the stage is `downloading`." }),
    queue: QueuePlace.optional().meta({ description: "While the stage is `queued`." }),
    expiresAt: isoMoment.optional().meta({
      description: "While `running`: when the session is stopped as idle unless a keepalive arrives.",
    }),
    ending: GameSessionEnding.optional().meta({
      description:
        "While `running`: an end that is near, or that an admin has planned. Absent again if it is postponed. While `stopping`: why and since when, unless the player or the game ended it.",
    }),
    announcement: z
      .object({ message: z.string(), until: isoMoment })
      .optional()
      .meta({ description: "Before the end: a message of the admins to everyone who plays." }),
    playLimitEndsAt: playLimitEndsAt.optional(),
    endReason: GameSessionEndReason.optional().meta({ description: "Since `stopping`." }),
    quality: StreamQuality.optional().meta({
      description:
        "The stream quality at launch, within the site's maximum. Absent after the end. Changes during play are reported only by the stream.",
    }),
    message: z.string().optional().meta({
      description:
        "A message for the player, if the session ended without their request or before it was playable.",
    }),
    gameError: z
      .object({
        exitCode: z
          .int()
          .optional()
          .meta({ description: "128 + N after signal N.", examples: [139] }),
        signal: z
          .string()
          .optional()
          .meta({ examples: ["SIGSEGV"] }),
      })
      .optional()
      .meta({
        description:
          "If the game itself failed, so that another launch may fail in the same way. How it ended is known for some minutes after the end.",
      }),
    saveNotice: z.string().optional().meta({
      description:
        "A message for the player, if the newest progress cannot be saved or may be incomplete, or a requested save has nothing to store.",
    }),
    earlierSave: z
      .object({ saveSlotId: z.string(), versionId: z.string(), savedAt: isoMoment })
      .optional()
      .meta({
        description:
          "After an end by force, when the last save may be incomplete: the save from before, which `POST /api/games/{slug}/saves/{slotId}/restore` makes current.",
      }),
    fullFolders: z.array(GameFolder).optional().meta({
      description:
        "After the end: folders of the game that had no room left at some time. `home` is the save folder.",
    }),
  })
  .meta({ id: "GameSession", description: "A session." });
export type GameSessionStatusResponse = z.infer<typeof GameSessionStatusResponse>;

export const KeepaliveResponse = z
  .object({
    status: z.literal("ok"),
    expiresAt: isoMoment.meta({
      description: "When the session is stopped as idle unless another keepalive arrives.",
    }),
  })
  .meta({ id: "Keepalive", description: "The session was kept alive." });
export type KeepaliveResponse = z.infer<typeof KeepaliveResponse>;

export const LeaveRequest = z
  .strictObject({
    sessionId: opaqueId,
    connection: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/)
      .meta({
        description:
          "The connection that the page had: the last part of the `Location` in the response to its WebRTC offer. Any text, such as `none`, for a page without one: it counts until the session's first connection.",
        examples: ["0b8f7c1e-5f0e-4a53-9c3e-5b1d2f7a6e10"],
      }),
  })
  .meta({ id: "LeaveRequest" });
export type LeaveRequest = z.infer<typeof LeaveRequest>;

export const LeaveResponse = z
  .object({
    status: z.enum(["left", "ignored"]).meta({
      description: "`ignored`: the session has had a newer connection since, or is ending. Nothing changes.",
    }),
    expiresAt: isoMoment.optional().meta({
      description: "When the session is stopped as idle, or its launch cancelled, unless a player returns.",
    }),
  })
  .meta({ id: "Leave", description: "The page has left." });
export type LeaveResponse = z.infer<typeof LeaveResponse>;

/**
 * `duration` and `cpuSeconds` are in seconds. All values are 0 for a session that was stopped before it ran.
 */
export const StopResponse = z
  .object({
    status: z.literal("stopped"),
    duration: z
      .number()
      .min(0)
      .meta({ description: "Seconds.", examples: [1834.5] }),
    cpuSeconds: z
      .number()
      .min(0)
      .meta({ examples: [912.25] }),
    peakMemoryMb: z
      .number()
      .min(0)
      .meta({ examples: [743] }),
  })
  .meta({
    id: "StoppedSession",
    description:
      "The resources that the session used; all 0 if it was stopped before it ran. The values are final once the cluster has ended the session, which may be later than this response.",
  });
export type StopResponse = z.infer<typeof StopResponse>;

/** Response 202 of a stop that takes longer than the server waits. Repeat the request, or poll the status. */
export const StopPendingResponse = z.object({ status: z.literal("stopping") }).meta({
  id: "StoppingSession",
  description: "The session is still ending. Repeat the request, or poll the status.",
});
export type StopPendingResponse = z.infer<typeof StopPendingResponse>;

export const GameSessionsResponse = z
  .object({
    sessions: z.array(
      z.object({
        sessionId,
        gameSlug: z.string().meta({ examples: ["moonlight-drift"] }),
        gameTitle: z.string().meta({ examples: ["Moonlight Drift"] }),
        status: PublicGameSessionStatus,
        startedAt: isoMoment,
        stage: z.literal("queued").optional().meta({ description: "Only while it waits in the queue." }),
        queue: QueuePlace.optional().meta({ description: "While the stage is `queued`." }),
      }),
    ),
  })
  .meta({ id: "GameSessions", description: "The player's sessions that have not ended." });
export type GameSessionsResponse = z.infer<typeof GameSessionsResponse>;

export const StreamTicketRequest = z
  .strictObject({
    sessionId: opaqueId,
    role: ViewerRole.default("play").meta({
      description: "`watch`: the ticket receives picture and sound, and its input is dropped.",
    }),
  })
  .meta({ id: "StreamTicketRequest" });
export type StreamTicketRequest = z.infer<typeof StreamTicketRequest>;

export const StreamTicketResponse = z
  .object({
    ticket: z.string().meta({
      description: "Send it with the offer and with the hang-up, as `Authorization: Bearer <ticket>`.",
    }),
    role: ViewerRole,
    expiresAt: isoMoment.meta({
      description: `Request a new ticket after this time. New connections are accepted for ${limits.streamTicket.leewaySeconds / 60} more minutes, because clocks may differ. Existing connections continue.`,
    }),
    url: z.string().meta({
      description: "URL that a WHEP player posts its offer to.",
      examples: ["https://joypod.example/api/stream/gs-7k2m9q4x1v8c"],
    }),
  })
  .meta({ id: "StreamTicket", description: "A ticket for a WHEP player without a cookie." });
export type StreamTicketResponse = z.infer<typeof StreamTicketResponse>;

/** Names of the server-sent events of a session, in the order of its life. */
export const gameSessionEvents = {
  /** The launch has reached another stage. */
  stage: "stage",
  /** The game can be played. Sent again when an announced end was postponed. */
  running: "running",
  /** The session will soon stop as idle unless a keepalive arrives. */
  expiring: "expiring",
  /**
   * The session will be saved and stopped at a known time: as idle, at its maximum duration, or because of an
   * admin.
   */
  ending: "ending",
  stopping: "stopping",
  /** The session has ended, for the reason in the data. The last event. */
  end: "end",
} as const;
export type GameSessionEventName = (typeof gameSessionEvents)[keyof typeof gameSessionEvents];

/** Data of every event except `expiring` and `ending`: the current response of `session-status`. */
export const GameSessionEventStatus = GameSessionStatusResponse;

/** Data of `expiring`. */
export const GameSessionExpiring = z.object({
  sessionId: z.string(),
  expiresAt: z.iso.datetime(),
  secondsLeft: z.int().min(0),
});
/** Data of `ending`. */
export const GameSessionEndingEvent = GameSessionEnding.extend({ sessionId: z.string() });
export type GameSessionEndingEvent = z.infer<typeof GameSessionEndingEvent>;
export type GameSessionExpiring = z.infer<typeof GameSessionExpiring>;
