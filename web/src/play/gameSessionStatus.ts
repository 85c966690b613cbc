import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { isApiError } from "../client/apiError.ts";
import { publicStatuses } from "#contracts/crd/sessionState.ts";

const maxPauseMs = limits.gameSession.keepaliveIntervalSeconds * 1_000;

const minPauseMs = 5_000;

/** Pause after a keepalive that failed. */
export const failedKeepalivePauseMs = minPauseMs;

const startingPauseMs = limits.gameSession.pollIntervalSeconds * 1_000;

/** While the game runs the end of its stream tells of most ends; polling finds the others. */
const runningPauseMs = 10_000;

/** Events tell everything while they come; polling is there in case one is lost. */
const subscribedPauseMs = 60_000;

/**
 * The same while a player waits for the session: a connection that is only half open says nothing, not even
 * that it is.
 */
const awaitedPauseMs = 10_000;

interface PollState {
  session: Pick<GameSessionStatusResponse, "status"> | undefined;
  /** The last request's failure. */
  error: Error | null;
  /** Whether the session's events come. */
  isSubscribed: boolean;
}

/**
 * Returns the pause before the session's status is read again, not shorter than a Retry-After; false when no
 * request could tell more.
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
  // A mistaken header must not stop the polling for good.
  return Math.max(pauseMs, Math.min(retryAfterMs, subscribedPauseMs));
}

/** Returns whether nothing new can be learned about the session: it has ended, or it cannot be read. */
export function isFinal(session: PollState["session"], error: Error | null): boolean {
  return (
    session?.status === "stopped" ||
    session?.status === "error" ||
    isApiError(error, "not_found", "unauthorized")
  );
}

/**
 * Returns the newer of two reports about one session. A session never goes back to an earlier status, so a
 * response that does is older than the event that came while it was on its way.
 */
export function newerOf(
  known: GameSessionStatusResponse | undefined,
  received: GameSessionStatusResponse,
): GameSessionStatusResponse {
  return known !== undefined && publicStatuses.indexOf(received.status) < publicStatuses.indexOf(known.status)
    ? known
    : received;
}

/**
 * Returns the session as it was last read; undefined once the API knows no such session of the player, who
 * may be another one than before: tabs share their sign-in. The last request's failure is `error`.
 */
export function ownSession<Session extends Pick<GameSessionStatusResponse, "status">>(
  session: Session | undefined,
  error: Error | null,
): Session | undefined {
  return isApiError(error, "not_found") ? undefined : session;
}

/**
 * Returns the pause before the next keepalive: a third of the time that is left, so that two keepalives in a
 * row may be lost. A platform may have a shorter idle timeout than usual.
 */
export function keepalivePauseMs(leftMs: number): number {
  return Math.min(maxPauseMs, Math.max(minPauseMs, leftMs / 3));
}
