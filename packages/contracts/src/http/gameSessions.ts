import { z } from "zod";
import { launchSteps } from "../crd/launchStep.ts";
import { publicStatuses } from "../crd/sessionState.ts";
import { limits } from "../limits.ts";
import { StreamQuality, LaunchQuality } from "../streamQuality.ts";
import { ViewerRole } from "../viewerRole.ts";
import { isoMoment, opaqueId } from "./text.ts";

const sessionId = z.string().meta({ examples: ["gs-7k2m9q4x1v8c"] });

export const PublicGameSessionStatus = z.enum(publicStatuses).meta({
  id: "GameSessionStatus",
  description:
    "`starting` is being prepared, `running` shows its stream, `stopping` is saving, `stopped` has ended, `error` never ran.",
});

/** With neither choice the most recently played slot goes on; the first launch of a game starts afresh. */
export const LaunchRequest = z
  .strictObject({
    gameSlug: opaqueId.meta({ description: "The game.", examples: ["moonlight-drift"] }),
    saveSlotId: opaqueId
      .optional()
      .meta({ description: "The save slot to continue.", examples: ["cm3qk1x2v0002"] }),
    fresh: z.boolean().optional().meta({ description: "True: start anew in the lowest empty slot." }),
    quality: LaunchQuality.optional().meta({
      description: "Of the picture; when absent, or with `startKbps` alone, what the player's account keeps.",
    }),
  })
  .refine((body) => !(body.fresh === true && body.saveSlotId !== undefined), {
    path: ["fresh"],
    error: "cannot be true together with saveSlotId: either continue a save or start afresh",
  })
  .meta({
    id: "LaunchRequest",
    description:
      "With neither choice the most recently played slot goes on; a game's first launch starts afresh in slot 1.",
  });
export type LaunchRequest = z.infer<typeof LaunchRequest>;

export const LaunchResponse = z.object({ sessionId, status: z.literal("starting") }).meta({
  id: "Launch",
  description: "The launch goes on by itself: poll `GET /api/game/session-status` until it is `running`.",
});
export type LaunchResponse = z.infer<typeof LaunchResponse>;

/** Body of keepalive and stop, query of session-status. */
export const GameSessionRequest = z.strictObject({ sessionId: opaqueId }).meta({ id: "GameSessionRequest" });
export type GameSessionRequest = z.infer<typeof GameSessionRequest>;

/** The steps of a launch as the HTTP interface names them, in order. */
export const launchStages = launchSteps;
export const LaunchStage = z
  .enum(launchStages)
  .meta({ id: "LaunchStage", description: "What a starting session is busy with, in this order." });
export type LaunchStage = z.infer<typeof LaunchStage>;

/** Why a session ended or is ending. */
export const GameSessionEndReason = z
  .enum(["user_requested", "idle_timeout", "max_duration", "deleted", "game_exited", "server_lost", "failed"])
  .meta({ id: "GameSessionEndReason", description: "Why a session ended or is ending." });
export type GameSessionEndReason = z.infer<typeof GameSessionEndReason>;

export const GameSessionStatusResponse = z
  .object({
    sessionId,
    status: PublicGameSessionStatus,
    serverUrl: z
      .string()
      .nullable()
      .meta({
        description: "Address below which the streams of sessions live.",
        examples: ["https://joypod.example/api/stream"],
      }),
    containerUrl: z
      .string()
      .nullable()
      .meta({
        description:
          "Where the WebRTC offer is posted (WHEP); null until the session is `running`, and after its end.",
        examples: ["https://joypod.example/api/stream/gs-7k2m9q4x1v8c"],
      }),
    gameTitle: z.string().meta({ examples: ["Moonlight Drift"] }),
    startedAt: isoMoment,
    stage: LaunchStage.optional().meta({ description: "While `starting`." }),
    progressPercent: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .meta({ description: "Of the download, while the stage is `downloading`." }),
    expiresAt: isoMoment
      .optional()
      .meta({ description: "While `running`: when the session is stopped as idle without a keepalive." }),
    endReason: GameSessionEndReason.optional().meta({ description: "From `stopping` on." }),
    quality: StreamQuality.optional().meta({
      description:
        "Until the end: the picture's quality that the session was launched with, within the site's maximum. What is changed while playing is told by the stream alone.",
    }),
    message: z.string().optional().meta({
      description:
        "A sentence for the player, when the end was not their own wish, or came before there was anything to play.",
    }),
    saveNotice: z.string().optional().meta({
      description:
        "A sentence for the player, when the newest progress cannot be kept, or a save was asked for and there is nothing to keep.",
    }),
  })
  .meta({ id: "GameSession", description: "A session as the play page needs it." });
export type GameSessionStatusResponse = z.infer<typeof GameSessionStatusResponse>;

export const KeepaliveResponse = z
  .object({
    status: z.literal("ok"),
    expiresAt: isoMoment.meta({
      description: "When the session is stopped as idle without another keepalive.",
    }),
  })
  .meta({ id: "Keepalive", description: "The session lives on." });
export type KeepaliveResponse = z.infer<typeof KeepaliveResponse>;

/** `duration` and `cpuSeconds` are seconds; all are 0 for a session stopped before it ran. */
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
      "What the session used; all 0 when it was stopped before it ran. The same at every asking, from when the cluster has ended it: that may take longer than its player is kept.",
  });
export type StopResponse = z.infer<typeof StopResponse>;

/** Answer 202 of a stop whose end takes longer than the server waits: ask again, or poll the status. */
export const StopPendingResponse = z.object({ status: z.literal("stopping") }).meta({
  id: "StoppingSession",
  description: "The end takes longer than this response waits: ask again, or poll the status.",
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
      }),
    ),
  })
  .meta({ id: "GameSessions", description: "The player's sessions that have not ended." });
export type GameSessionsResponse = z.infer<typeof GameSessionsResponse>;

export const StreamTicketRequest = z
  .strictObject({
    sessionId: opaqueId,
    role: ViewerRole.default("play").meta({
      description: "`watch`: a ticket that sees and hears the game, and whose input is dropped.",
    }),
  })
  .meta({ id: "StreamTicketRequest" });
export type StreamTicketRequest = z.infer<typeof StreamTicketRequest>;

export const StreamTicketResponse = z
  .object({
    ticket: z.string().meta({
      description: "Sent with the offer, and with the hang-up, as `Authorization: Bearer <ticket>`.",
    }),
    role: ViewerRole,
    expiresAt: isoMoment.meta({
      description: `From then on, ask for another ticket: new connections are made with this one for ${limits.streamTicket.leewaySeconds / 60} more minutes, because clocks may differ, and then none. One that was made goes on.`,
    }),
    url: z.string().meta({
      description: "Where a WHEP player posts its offer.",
      examples: ["https://joypod.example/api/stream/gs-7k2m9q4x1v8c"],
    }),
  })
  .meta({ id: "StreamTicket", description: "What a WHEP player needs to connect without a cookie." });
export type StreamTicketResponse = z.infer<typeof StreamTicketResponse>;

/** Names of the server-sent events about one session, in the order of its life. */
export const gameSessionEvents = {
  /** The launch has come further. */
  stage: "stage",
  /** The game can be played; again when an expected idle end was put off. */
  running: "running",
  /** Without a keepalive the session stops as idle soon. */
  expiring: "expiring",
  stopping: "stopping",
  /** The session has ended, as its data says why; the last event. */
  end: "end",
} as const;
export type GameSessionEventName = (typeof gameSessionEvents)[keyof typeof gameSessionEvents];

/** Data of every event but `expiring`: what `session-status` would answer now. */
export const GameSessionEventStatus = GameSessionStatusResponse;

/** Data of `expiring`. */
export const GameSessionExpiring = z.object({
  sessionId: z.string(),
  expiresAt: z.iso.datetime(),
  secondsLeft: z.int().min(0),
});
export type GameSessionExpiring = z.infer<typeof GameSessionExpiring>;

export const IceServer = z
  .object({
    urls: z
      .array(z.string())
      .min(1)
      .meta({
        examples: [
          ["turn:turn.joypod.example:3478?transport=udp", "turns:turn.joypod.example:443?transport=tcp"],
        ],
      }),
    username: z
      .string()
      .optional()
      .meta({ examples: ["1800000000:cm3qk1x2v0001"] }),
    credential: z.string().optional(),
  })
  .meta({ id: "IceServer", description: "A relay, as `RTCPeerConnection` takes it." });
export type IceServer = z.infer<typeof IceServer>;

export const IceServersResponse = z
  .object({
    iceServers: z.array(IceServer).meta({ description: "Empty where there is no relay." }),
    expiresInSeconds: z
      .int()
      .min(1)
      .meta({
        description:
          "No new connection is relayed with these credentials after this; one that was made goes on.",
        examples: [3600],
      }),
  })
  .meta({
    id: "IceServers",
    description: "Relays for a connection that does not reach a game server directly.",
  });
export type IceServersResponse = z.infer<typeof IceServersResponse>;
