import { useCallback, useEffect, useRef, type RefObject } from "react";
import { useNavigate } from "react-router";
import { useMutation, useQueryClient, type QueryClient } from "@tanstack/react-query";
import type { LaunchRequest } from "#contracts/http/gameSessions.ts";
import { isApiError } from "../client/apiError.ts";
import { launchGame, stopGameSession } from "../client/gameSessions.ts";
import { launchQualityFrom, readTestResult } from "../connectionTest/testResult.ts";
import { refreshServiceStatus } from "../service/useServiceStatus.ts";
import { playPath } from "./playPath.ts";
import { refreshActiveGameSession } from "./useActiveGameSession.ts";

interface LaunchAttempt {
  request: LaunchRequest;
  /** Id of the session to stop before. */
  stopFirst?: string;
}

export interface Launch {
  /** Launches the game and goes to its play page, unless the player has left this one by then. */
  start: (request: LaunchRequest) => void;
  /** True from the click on; it stays true while the browser goes to the play page. */
  isLaunching: boolean;
  /** What the last launch asked for, which is under way or has failed; undefined before. */
  request: LaunchRequest | undefined;
  /** Why the last launch failed; null also for a conflict. */
  error: Error | null;
  /** The player's other session, which has to be resumed or stopped before. */
  conflict: { activeSessionId: string; isStopping: boolean } | undefined;
  /** Stops the session of the conflict, then launches the game. */
  stopAndStart: () => void;
  dismissConflict: () => void;
}

/**
 * Launches games, with the bitrate that the last test of the connection found. A launch that the API refuses
 * because the player already plays becomes a conflict.
 */
export function useLaunch(): Launch {
  const navigate = useNavigate();
  const client = useQueryClient();
  const isHere = useIsHere();
  const { mutate, reset, variables, error, isPending, isSuccess } = useMutation({
    mutationFn: async ({ request, stopFirst }: LaunchAttempt) => {
      if (stopFirst !== undefined) await stopIfPresent(stopFirst);
      const { startKbps } = launchQualityFrom(readTestResult());
      return launchGame(
        startKbps === undefined ? request : { ...request, quality: { startKbps, ...request.quality } },
      );
    },
    onSuccess: async (sessionId, { request }) => {
      if (isHere.current) await navigate(playPath({ sessionId, ...request }));
      else refreshGame(client, request);
    },
    onError: (failure, { request }) => {
      refreshGame(client, request);
      if (isApiError(failure, "maintenance")) refreshServiceStatus(client);
    },
  });
  const request = variables?.request;
  useEffect(() => {
    if (!isSuccess || request === undefined) return undefined;
    // Back before the play page was there: this page has never gone, and may launch again.
    const onBack = (): void => {
      reset();
      refreshGame(client, request);
    };
    addEventListener("popstate", onBack);
    return () => removeEventListener("popstate", onBack);
  }, [isSuccess, reset, client, request]);
  const isConflict = isApiError(error, "session_active") && error.activeSessionId !== undefined;
  const activeSessionId = isConflict ? error.activeSessionId : isPending ? variables.stopFirst : undefined;
  return {
    start: useCallback((request) => mutate({ request }), [mutate]),
    isLaunching: isPending || isSuccess,
    request,
    error: isConflict ? null : error,
    conflict: activeSessionId === undefined ? undefined : { activeSessionId, isStopping: isPending },
    stopAndStart: useCallback(() => {
      if (variables !== undefined && activeSessionId !== undefined)
        mutate({ request: variables.request, stopFirst: activeSessionId });
    }, [mutate, variables, activeSessionId]),
    dismissConflict: reset,
  };
}

/** Tells whether the component is still on the page: what it has begun goes on without it. */
function useIsHere(): Readonly<RefObject<boolean>> {
  const isHere = useRef(false);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return isHere;
}

/**
 * Reads again what a launch changes: the player's active session, and the game's slots, some of which may be
 * gone, and others there.
 */
function refreshGame(client: QueryClient, { gameSlug }: LaunchRequest): void {
  refreshActiveGameSession(client);
  void refreshSlots(client, gameSlug);
}

async function stopIfPresent(sessionId: string): Promise<void> {
  try {
    await stopGameSession(sessionId);
  } catch (error) {
    if (!isApiError(error, "not_found")) throw error;
  }
}

/** Reads again what is on the page of a game's slots. Resolves once it is there. */
export async function refreshSlots(client: QueryClient, gameSlug: string): Promise<void> {
  await Promise.all(
    ["game", "saves"].map((read) => client.invalidateQueries({ queryKey: [read, gameSlug] })),
  );
}
