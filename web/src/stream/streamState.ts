import type { EndedNotice, StreamNotice } from "#contracts/stream.ts";
import type { z } from "zod";

export type EndedNotice = z.infer<typeof EndedNotice>;

/** Where a stream stands. */
export type StreamState =
  /** Not asked to connect, or closed by the page. */
  | { phase: "idle" }
  | { phase: "connecting"; isReconnect: boolean }
  | { phase: "connected" }
  /** The connection broke; another try follows after `retryInMs`. */
  | { phase: "waiting"; retryInMs: number }
  /** Another tab or browser of the player holds the stream; `takeOver` gets it. */
  | { phase: "occupied" }
  /** Another tab or browser took the stream; `takeOver` gets it back. */
  | { phase: "takenOver" }
  | { phase: "ended"; notice: EndedNotice }
  /** No more tries by itself: the session or the sign-in is gone (`code`), or it was tried for too long (`gave_up`). */
  | { phase: "failed"; code: string; message: string };

/** How one connection, or the attempt at one, came to its end. */
export type ConnectionOutcome =
  | { kind: "lost" }
  | { kind: "unreached"; code: string; message: string }
  | { kind: "takenOver" }
  | { kind: "ended"; notice: EndedNotice };

/** Refusals that another try would not change. */
const finalRefusals: ReadonlySet<string> = new Set(["unauthorized", "not_found", "not_running", "invalid_offer", "unsupported_media_type"]);
/** A connection is tried again for this long after it was last up. */
const giveUpAfterMs = 120_000;

/** What follows an outcome: a state to stay in, or undefined when it should be tried again. */
export function stateAfter(outcome: ConnectionOutcome, brokenForMs: number): StreamState | undefined {
  if (outcome.kind === "takenOver") return { phase: "takenOver" };
  if (outcome.kind === "ended") return { phase: "ended", notice: outcome.notice };
  if (outcome.kind === "unreached") {
    if (outcome.code === "viewer_active") return { phase: "occupied" };
    if (finalRefusals.has(outcome.code)) return { phase: "failed", code: outcome.code, message: outcome.message };
  }
  if (brokenForMs < giveUpAfterMs) return undefined;
  return { phase: "failed", code: "gave_up", message: "The stream could not be reached for two minutes." };
}

/** Whether the session only needs more time before it has a stream. */
export function isStillStarting(outcome: ConnectionOutcome): boolean {
  return outcome.kind === "unreached" && outcome.code === "not_ready";
}

/** The outcome that a notice announces, for the two that end a connection. */
export function outcomeOf(notice: StreamNotice): ConnectionOutcome | undefined {
  if (notice.t === "taken-over") return { kind: "takenOver" };
  return notice.t === "ended" ? { kind: "ended", notice } : undefined;
}
