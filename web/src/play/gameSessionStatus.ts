import { publicStatuses } from "#contracts/crd/sessionState.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { isApiError } from "../client/apiError.ts";

const maxPauseMs = limits.gameSession.keepaliveIntervalSeconds * 1_000;

const minPauseMs = 5_000;

/** Pause after a keepalive that failed. */
export const failedKeepalivePauseMs = minPauseMs;

/** Time before an idle stop at which the player is warned, first and again. */
const warnings = { earlyMs: 5 * 60_000, lateMs: 60_000 };
/** Keepalives that fail may be through again soon. */
const cutOffWarningMs = 3 * 60_000;

const startingPauseMs = limits.gameSession.pollIntervalSeconds * 1_000;

/** The end of the stream reveals most ends of a running game; polling finds the others. */
const runningPauseMs = 10_000;

/** Events report everything while they arrive; polling covers a lost one. */
const subscribedPauseMs = 60_000;

/**
 * The same while a player waits for the session: a half-open connection delivers nothing and reports no
 * error.
 */
const awaitedPauseMs = 10_000;

interface PollState {
  session: Pick<GameSessionStatusResponse, "status"> | undefined;
  /** The last request's failure. */
  error: Error | null;
  /** Whether the session's events arrive. */
  isSubscribed: boolean;
}

/**
 * Returns the pause before the session's status is read again, at least as long as a Retry-After; false if no
 * request could return anything new.
 */
export function pollPauseMs({ session, error, isSubscribed }: PollState): number | false {
  if (isFinal(session, error)) return false;
  const isRunning = session?.status === "running";
  const pauseMs = isSubscribed
    ? isRunning
      ? subscribedPauseMs
      : awaitedPauseMs
    : isRunning
      ? runningPauseMs
      : startingPauseMs;
  const retryAfterMs = isApiError(error) ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  // A wrong header must not stop polling.
  return Math.max(pauseMs, Math.min(retryAfterMs, subscribedPauseMs));
}

/** Returns whether the status is final: the session has ended, or it cannot be read. */
export function isFinal(session: PollState["session"], error: Error | null): boolean {
  return (
    session?.status === "stopped" ||
    session?.status === "error" ||
    isApiError(error, "not_found", "unauthorized")
  );
}

/**
 * Returns the newer of two statuses of one session. A session never returns to an earlier status, so such a
 * response is older than an event that overtook it.
 */
export function newerStatus(
  known: GameSessionStatusResponse | undefined,
  received: GameSessionStatusResponse,
): GameSessionStatusResponse {
  // Positions never grow either.
  if (known?.queue !== undefined && (received.queue?.position ?? 0) > known.queue.position) return known;
  return known !== undefined && publicStatuses.indexOf(received.status) < publicStatuses.indexOf(known.status)
    ? known
    : received;
}

/**
 * Returns the last status; undefined once the API no longer knows such a session of the player. Tabs share
 * the sign-in, so it may be another player than before. `error` is the failure of the last request.
 */
export function knownSession<Session extends Pick<GameSessionStatusResponse, "status">>(
  session: Session | undefined,
  error: Error | null,
): Session | undefined {
  return isApiError(error, "not_found") ? undefined : session;
}

/**
 * Returns the pause before the next keepalive: a third of the remaining time, so two keepalives in a row may
 * fail. Some platforms have a short idle timeout.
 */
export function keepalivePauseMs(leftMs: number): number {
  return Math.min(maxPauseMs, Math.max(minPauseMs, leftMs / 3));
}

/** How near an end is that input does not postpone. */
export type EndingUrgency = "planned" | "early" | "late";

/** Returns how near the end is: more than five minutes, up to five, or up to one. */
export function endingUrgency(leftMs: number): EndingUrgency {
  if (leftMs <= warnings.lateMs) return "late";
  return leftMs <= warnings.earlyMs ? "early" : "planned";
}

/**
 * Returns which warning is due `leftMs` before an idle stop, at most half of the time that the last keepalive
 * gained before it; undefined if none is. `isCutOff`: keepalives do not arrive.
 */
export function expiryWarning(
  leftMs: number,
  gainedMs: number,
  isCutOff: boolean,
): "early" | "late" | undefined {
  // If the keepalive gained no time, this clock is far ahead of the server's: the countdown would be wrong.
  if (gainedMs <= 0) return undefined;
  if (leftMs >= Math.min(isCutOff ? cutOffWarningMs : warnings.earlyMs, gainedMs / 2)) return undefined;
  return leftMs < warnings.lateMs ? "late" : "early";
}
