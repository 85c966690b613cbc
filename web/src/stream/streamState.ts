import type { z } from "zod";
import type { EndedNotice, StreamNotice } from "#contracts/stream.ts";
import type { OfferErrorCode } from "./whep.ts";

export type EndedNotice = z.infer<typeof EndedNotice>;

/** The state of a stream. */
export type StreamState =
  /** Not connected yet, or closed by the page. */
  | { phase: "idle" }
  | { phase: "connecting"; isReconnect: boolean }
  | { phase: "connected" }
  /**
   * The connection was lost, or the first one could not be made (`isReconnect` false); another attempt
   * follows after `retryInMs`.
   */
  | { phase: "waiting"; retryInMs: number; isReconnect: boolean }
  /** Another tab or browser of the player has the stream; `takeOver` takes it. */
  | { phase: "occupied" }
  /** Another tab or browser took the stream; `takeOver` takes it back. */
  | { phase: "takenOver" }
  | { phase: "ended"; notice: EndedNotice }
  /**
   * No more attempts follow: the browser cannot stream (`unsupported`), the offer was refused (`code`), or
   * the attempts took too long (`gave_up`, `no_path`).
   */
  | { phase: "failed"; code: string; message: string };

/** The end of one connection or connection attempt. */
export type ConnectionOutcome =
  /** With `isReachable`, the network works. */
  | { kind: "lost"; isReachable: boolean }
  | { kind: "connectFailed"; code: OfferErrorCode; message: string }
  /** The streamer answered, but no packet got through. */
  | { kind: "noPath" }
  | { kind: "takenOver" }
  | { kind: "ended"; notice: EndedNotice };

/**
 * Error codes that end the attempts. `unauthorized`, `not_found` and `not_running` do not: they may be about
 * another player who has signed in since, or about a session that has ended. The page reads the session's
 * status after each failed attempt, and the status decides.
 */
const finalErrorCodes: ReadonlySet<OfferErrorCode> = new Set<OfferErrorCode>([
  "invalid_offer",
  "unsupported_media_type",
]);
/** Attempts continue for this long after the connection was last up. */
const giveUpAfterMs = 120_000;

/** Returns the state after an outcome; undefined if another attempt follows. */
export function stateAfter(outcome: ConnectionOutcome, downForMs: number): StreamState | undefined {
  if (outcome.kind === "takenOver") return { phase: "takenOver" };
  if (outcome.kind === "ended") return { phase: "ended", notice: outcome.notice };
  if (outcome.kind === "connectFailed") {
    if (outcome.code === "viewer_active") return { phase: "occupied" };
    if (finalErrorCodes.has(outcome.code))
      return { phase: "failed", code: outcome.code, message: outcome.message };
  }
  if (downForMs < giveUpAfterMs) return undefined;
  return outcome.kind === "noPath"
    ? { phase: "failed", code: "no_path", message: "No packet got through." }
    : { phase: "failed", code: "gave_up", message: "The stream did not answer for two minutes." };
}

/** Returns whether the game is in play: during a connection, or between a lost one and the next. */
export function isInPlay(state: StreamState): boolean {
  return (
    state.phase === "connected" ||
    ((state.phase === "connecting" || state.phase === "waiting") && state.isReconnect)
  );
}

/** Returns whether the session has no stream yet because it is still starting. */
export function isStillStarting(outcome: ConnectionOutcome): boolean {
  return outcome.kind === "connectFailed" && outcome.code === "not_ready";
}

/** Returns the outcome that a notice announces; undefined if it does not end the connection. */
export function toOutcome(notice: StreamNotice): ConnectionOutcome | undefined {
  if (notice.t === "taken-over") return { kind: "takenOver" };
  return notice.t === "ended" ? { kind: "ended", notice } : undefined;
}
