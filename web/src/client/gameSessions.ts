/** The API's calls about game sessions. All of them throw ApiError and nothing else. */

import {
  GameSessionStatusResponse,
  GameSessionsResponse,
  KeepaliveResponse,
  type LeaveRequest,
  LaunchResponse,
  StopPendingResponse,
  StopResponse,
  type LaunchRequest,
  gameSessionEvents,
  GameSessionEventStatus,
  GameSessionExpiring,
  GameSessionEndingEvent,
  type GameSessionEnding,
} from "#contracts/http/gameSessions.ts";
import { PlayLimitsResponse } from "#contracts/http/playLimits.ts";
import { limits } from "#contracts/limits.ts";
import { ApiError } from "./apiError.ts";
import { request, requestDated, requestOnce } from "./request.ts";

/** Pause before the events are requested again after an error response. */
const errorRetryMs = 30_000;

const { expiring, ending, ...statusEvents } = gameSessionEvents;

interface GameSessionEventHandlers {
  onStatus: (session: GameSessionStatusResponse) => void;
  onExpiring: (expiresAt: string) => void;
  onEnding: (ending: GameSessionEnding) => void;
  /** Called with true once events are known to arrive, and with false when their stream breaks off. */
  onOpen: (isOpen: boolean) => void;
}

const stopTimeoutMs = (limits.gameSession.stopWaitSeconds + 15) * 1_000;
/** For each of these requests the server itself waits up to half a minute for the end. */
const maxStopRequests = 6;

/**
 * Launches a game; returns the id of the new session, which waits in the queue if no seat is free. Errors:
 * session_active (with the id of the other), no_servers, no_empty_slot, rate_limited.
 */
export async function launchGame(launch: LaunchRequest): Promise<string> {
  return (await requestOnce(LaunchResponse, "/api/game/launch", { ...launch, wait: true })).sessionId;
}

/** Starts a queued session on the seat that is held for it. Errors: not_found, conflict, no_servers. */
export async function confirmSeat(sessionId: string): Promise<void> {
  await request(LaunchResponse, "/api/game/confirm", { json: { sessionId } });
}

/** Returns the limits of the player's play time; empty if there are none. */
export function listPlayLimits(signal?: AbortSignal): Promise<PlayLimitsResponse> {
  return request(PlayLimitsResponse, "/api/game/play-limits", { signal });
}

/** Returns the status of the player's session. */
export function readGameSession(sessionId: string, signal?: AbortSignal): Promise<GameSessionStatusResponse> {
  return request(
    GameSessionStatusResponse,
    `/api/game/session-status?${new URLSearchParams({ sessionId })}`,
    { signal },
  );
}

/** The result of a keepalive. */
export interface Kept {
  expiresAt: string;
  /** Time until then by the server's clock: the local one may be hours off. */
  leftMs: number;
}

/** Extends the session; returns its new end. */
export async function keepGameSessionAlive(sessionId: string, signal?: AbortSignal): Promise<Kept> {
  const {
    body: { expiresAt },
    sentAt,
  } = await requestDated(KeepaliveResponse, "/api/game/keepalive", { json: { sessionId }, signal });
  return { expiresAt, leftMs: Date.parse(expiresAt) - sentAt };
}

/**
 * Reports that the page closes, so that the session ends soon unless the player returns. The browser sends it
 * after the page is gone; nobody learns whether it arrives.
 */
export function leaveGameSession(leave: LeaveRequest): void {
  navigator.sendBeacon("/api/game/leave", new Blob([JSON.stringify(leave)], { type: "application/json" }));
}

/**
 * Stops a session if it has not ended yet, waits for its end, and returns its statistics. Errors: unavailable
 * when that takes minutes.
 */
export async function stopGameSession(sessionId: string): Promise<StopResponse> {
  for (let requests = 0; requests < maxStopRequests; requests += 1) {
    const response = await request(StopResponse.or(StopPendingResponse), "/api/game/stop", {
      json: { sessionId },
      timeoutMs: stopTimeoutMs,
    });
    if (response.status === "stopped") return response;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new ApiError("unavailable", "The session takes very long to stop.");
}

/** Returns the player's sessions that are starting, running or stopping. */
export async function listGameSessions(signal?: AbortSignal): Promise<GameSessionsResponse["sessions"]> {
  return (await request(GameSessionsResponse, "/api/game/sessions", { signal })).sessions;
}

/**
 * Subscribes to a session's events until its end or until the returned function is called. The browser
 * reconnects a broken stream.
 */
export function subscribeToGameSession(sessionId: string, handlers: GameSessionEventHandlers): () => void {
  let source: EventSource | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let isOpen = false;
  let hasHeard = false;
  const setOpen = (next: boolean): void => {
    if (next === isOpen) return;
    isOpen = next;
    handlers.onOpen(isOpen);
  };
  const open = (): void => {
    source = openSource(sessionId, handlers, () => {
      hasHeard = true;
      setOpen(true);
    });
    // A proxy may let a stream open and hold back its events. The first event is sent at once; a reopened
    // stream may have nothing new.
    source.addEventListener("open", () => setOpen(hasHeard));
    source.addEventListener("error", () => {
      setOpen(false);
      // The browser closes the source after an error response and does not reconnect then.
      if (source?.readyState === EventSource.CLOSED) retryTimer = setTimeout(open, errorRetryMs);
    });
  };
  open();
  return () => {
    clearTimeout(retryTimer);
    source?.close();
  };
}

function openSource(
  sessionId: string,
  { onStatus, onExpiring, onEnding }: GameSessionEventHandlers,
  onEvent: () => void,
): EventSource {
  const source = new EventSource(`/api/game/events?${new URLSearchParams({ sessionId })}`);
  for (const name of Object.values(statusEvents)) {
    source.addEventListener(name, (event) => {
      onEvent();
      const session = GameSessionEventStatus.safeParse(dataOf(event)).data;
      if (session !== undefined) onStatus(session);
      if (name === gameSessionEvents.end) source.close();
    });
  }
  source.addEventListener(expiring, (event) => {
    onEvent();
    const warning = GameSessionExpiring.safeParse(dataOf(event)).data;
    if (warning !== undefined) onExpiring(warning.expiresAt);
  });
  source.addEventListener(ending, (event) => {
    onEvent();
    const announced = GameSessionEndingEvent.safeParse(dataOf(event)).data;
    if (announced === undefined) return;
    const { sessionId: _, ...end } = announced;
    onEnding(end);
  });
  return source;
}

function dataOf({ data }: MessageEvent<unknown>): unknown {
  try {
    return typeof data === "string" ? JSON.parse(data) : undefined;
  } catch {
    return undefined; // The data was damaged on the way; polling finds the status.
  }
}
