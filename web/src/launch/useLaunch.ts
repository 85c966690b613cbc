import { useCallback, useState } from "react";
import { useNavigate } from "react-router";
import type { LaunchRequest, StopResponse } from "#contracts/http/gameSessions.ts";
import { ApiError, isApiError } from "../client/apiError.ts";
import { launchGame, stopGameSession } from "../client/api.ts";
import { playPath, useActiveGameSession } from "./useActiveGameSession.tsx";
import { useAuth } from "../signIn/useAuth.tsx";

/** Where a launch stands; `conflict` names the session that must be resumed or stopped first. */
export type LaunchState =
  | { state: "idle" }
  | { state: "launching"; request: LaunchRequest }
  | { state: "conflict"; request: LaunchRequest; activeSessionId: string; isStopping: boolean }
  | { state: "failed"; error: unknown };

export interface Launch {
  launch: LaunchState;
  /** Launches and goes to the play page. */
  start: (request: LaunchRequest) => void;
  /** Ends the session in the way, then launches what was wanted. */
  stopAndStart: () => void;
  dismiss: () => void;
}

/** Launches a game and opens its play page; keeps what stood in the way. */
export function useLaunch(): Launch {
  const [launch, setLaunch] = useState<LaunchState>({ state: "idle" });
  const { noticeError } = useAuth();
  const { refresh } = useActiveGameSession();
  const navigate = useNavigate();

  const run = useCallback(async (request: LaunchRequest) => {
    setLaunch({ state: "launching", request });
    try {
      const sessionId = await launchGame(request);
      await navigate(playPath({ sessionId, gameSlug: request.gameSlug }));
    } catch (error) {
      noticeError(error);
      refresh();
      const activeSessionId = isApiError(error, "session_active") ? error.activeSessionId : undefined;
      setLaunch(activeSessionId === undefined ? { state: "failed", error } : { state: "conflict", request, activeSessionId, isStopping: false });
    }
  }, [navigate, noticeError, refresh]);

  const stopThenRun = useCallback(async (conflict: Extract<LaunchState, { state: "conflict" }>) => {
    setLaunch({ ...conflict, isStopping: true });
    try {
      await stopAndWait(conflict.activeSessionId);
    } catch (error) {
      noticeError(error);
      // Gone meanwhile is what was wanted.
      if (!isApiError(error, "not_found")) {
        setLaunch({ state: "failed", error });
        return;
      }
    }
    await run(conflict.request);
  }, [noticeError, run]);

  return {
    launch,
    start: useCallback((request) => void run(request), [run]),
    stopAndStart: useCallback(() => {
      if (launch.state === "conflict") void stopThenRun(launch);
    }, [launch, stopThenRun]),
    dismiss: useCallback(() => setLaunch({ state: "idle" }), []),
  };
}

/** Times that a stop is asked for again; each time the server itself waits up to half a minute for the end. */
const stopTries = 6;

/** Stops a session and waits until it has ended. Throws ApiError. */
export async function stopAndWait(sessionId: string): Promise<StopResponse> {
  for (let tries = 0; tries < stopTries; tries += 1) {
    const answer = await stopGameSession(sessionId);
    if (answer.status === "stopped") return answer;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new ApiError("unavailable", "The session takes very long to stop.");
}
