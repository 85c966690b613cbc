import { z } from "zod";
import { GameSessionStatusResponse } from "./gameSessions.ts";

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
