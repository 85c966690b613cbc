import { z } from "zod";
import { publicStatuses } from "../crd/publicStatus.ts";
import { opaqueId } from "./text.ts";

export const PublicGameSessionStatus = z.enum(publicStatuses);

/** With neither choice the most recently played slot goes on; the first launch of a game starts afresh. */
export const LaunchRequest = z.strictObject({
  gameSlug: opaqueId,
  saveSlotId: opaqueId.optional(),
  fresh: z.boolean().optional(),
}).refine((body) => !(body.fresh === true && body.saveSlotId !== undefined), {
  path: ["fresh"],
  error: "cannot be true together with saveSlotId: either continue a save or start afresh",
});
export type LaunchRequest = z.infer<typeof LaunchRequest>;

export const LaunchResponse = z.object({ sessionId: z.string(), status: z.literal("starting") });
export type LaunchResponse = z.infer<typeof LaunchResponse>;

/** Body of keepalive and stop, query of session-status. */
export const GameSessionRequest = z.strictObject({ sessionId: opaqueId });
export type GameSessionRequest = z.infer<typeof GameSessionRequest>;

/** What a session that is `starting` is busy with, in order. */
export const launchStages = ["scheduling", "downloading", "restoring", "booting", "connecting"] as const;
export const LaunchStage = z.enum(launchStages);
export type LaunchStage = z.infer<typeof LaunchStage>;

/** Why a session ended or is ending. */
export const GameSessionEndReason = z.enum([
  "user_requested", "idle_timeout", "max_duration", "deleted", "game_exited", "server_lost", "failed",
]);
export type GameSessionEndReason = z.infer<typeof GameSessionEndReason>;

export const GameSessionStatusResponse = z.object({
  sessionId: z.string(),
  status: PublicGameSessionStatus,
  /** Address below which session streams live; null until a server was chosen. */
  serverUrl: z.string().nullable(),
  /** Where the WebRTC offer is posted (WHEP); null until the session is `running`, and after its end. */
  containerUrl: z.string().nullable(),
  gameTitle: z.string(),
  startedAt: z.iso.datetime(),
  /** While `starting`. */
  stage: LaunchStage.optional(),
  /** Of the download, while the stage is `downloading`. */
  progressPercent: z.int().min(0).max(100).optional(),
  /** While `running`: when the session is stopped as idle without a keepalive. */
  expiresAt: z.iso.datetime().optional(),
  /** From `stopping` on. */
  endReason: GameSessionEndReason.optional(),
  /** A sentence for the player, when the end was not their own wish. */
  message: z.string().optional(),
});
export type GameSessionStatusResponse = z.infer<typeof GameSessionStatusResponse>;

export const KeepaliveResponse = z.object({ status: z.literal("ok"), expiresAt: z.iso.datetime() });
export type KeepaliveResponse = z.infer<typeof KeepaliveResponse>;

/** `duration` and `cpuSeconds` are seconds; all are 0 for a session stopped before it ran. */
export const StopResponse = z.object({
  status: z.literal("stopped"),
  duration: z.number().min(0),
  cpuSeconds: z.number().min(0),
  peakMemoryMb: z.number().min(0),
});
export type StopResponse = z.infer<typeof StopResponse>;

/** Answer 202 of a stop whose end takes longer than the server waits: ask again, or poll the status. */
export const StopPendingResponse = z.object({ status: z.literal("stopping") });
export type StopPendingResponse = z.infer<typeof StopPendingResponse>;

export const GameSessionsResponse = z.object({
  sessions: z.array(z.object({
    sessionId: z.string(),
    gameSlug: z.string(),
    gameTitle: z.string(),
    status: PublicGameSessionStatus,
    startedAt: z.iso.datetime(),
  })),
});
export type GameSessionsResponse = z.infer<typeof GameSessionsResponse>;
