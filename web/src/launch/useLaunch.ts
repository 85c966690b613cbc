import { useCallback, useEffect, useRef, type RefObject } from "react";
import { useNavigate } from "react-router";
import { useMutation, useQueryClient, type QueryClient } from "@tanstack/react-query";
import type { LaunchRequest } from "#contracts/http/gameSessions.ts";
import { isApiError } from "../client/apiError.ts";
import { launchGame, stopGameSession } from "../client/gameSessions.ts";
import { chooseLaunchStart, readTestResult } from "../connectionTest/testResult.ts";
import { refreshServiceStatus } from "../service/useServiceStatus.ts";
import { playPath } from "./playPath.ts";
import { refreshActiveGameSession } from "./useActiveGameSession.ts";

interface LaunchAttempt {
  request: LaunchRequest;
  /** Id of the session to stop first. */
  stopFirst?: string;
}

export interface Launch {
  /** Launches the game and opens its play page, unless the player has left this page. */
  start: (request: LaunchRequest) => void;
  /** True from the click until the play page is shown. */
  isLaunching: boolean;
  /** The request of the launch that is in progress or has failed; undefined before the first one. */
  request: LaunchRequest | undefined;
  /** Why the last launch failed; null for a conflict or question. */
  error: Error | null;
  /** The player's other session, which has to be resumed or stopped first. */
  conflict: { activeSessionId: string; isStopping: boolean } | undefined;
  /** Whether the save is from a newer version of the game, so that the player has to agree first. */
  olderVersion: { isStarting: boolean } | undefined;
  /** Continues the save with the older version. */
  acceptOlderVersion: () => void;
  /** Stops the conflicting session, then launches the game. */
  stopAndStart: () => void;
  dismissConflict: () => void;
}

/**
 * Launches games with the bitrate from the last connection test. A launch that the API refuses because the
 * player already plays becomes a conflict.
 */
export function useLaunch(): Launch {
  const navigate = useNavigate();
  const client = useQueryClient();
  const isHere = useIsHere();
  const { mutate, reset, variables, error, isPending, isSuccess } = useMutation({
    mutationFn: async ({ request, stopFirst }: LaunchAttempt) => {
      if (stopFirst !== undefined) await stopIfPresent(stopFirst);
      const { startKbps } = chooseLaunchStart(readTestResult());
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
    // The player went back before the play page was shown: this page was never left, and may launch again.
    const onBack = (): void => {
      reset();
      refreshGame(client, request);
    };
    addEventListener("popstate", onBack);
    return () => removeEventListener("popstate", onBack);
  }, [isSuccess, reset, client, request]);
  const isOlder =
    isApiError(error, "newer_save") || (isPending && variables.request.acceptsOlderVersion === true);
  const isConflict = isApiError(error, "session_active") && error.activeSessionId !== undefined;
  const activeSessionId = isConflict ? error.activeSessionId : isPending ? variables.stopFirst : undefined;
  return {
    start: useCallback((request) => mutate({ request }), [mutate]),
    isLaunching: isPending || isSuccess,
    request,
    error: isConflict || isOlder ? null : error,
    conflict: activeSessionId === undefined ? undefined : { activeSessionId, isStopping: isPending },
    olderVersion: isOlder ? { isStarting: isPending } : undefined,
    acceptOlderVersion: useCallback(() => {
      if (variables !== undefined) mutate({ request: { ...variables.request, acceptsOlderVersion: true } });
    }, [mutate, variables]),
    stopAndStart: useCallback(() => {
      if (variables !== undefined && activeSessionId !== undefined)
        mutate({ request: variables.request, stopFirst: activeSessionId });
    }, [mutate, variables, activeSessionId]),
    dismissConflict: reset,
  };
}

/** Returns whether the component is still on the page: its requests continue without it. */
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

/** Refreshes what a launch changes: the player's active session, and the game's slots. */
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

/** Refreshes the slots of a game. Resolves when that is done. */
export async function refreshSlots(client: QueryClient, gameSlug: string): Promise<void> {
  await Promise.all(
    ["game", "saves"].map((read) => client.invalidateQueries({ queryKey: [read, gameSlug] })),
  );
}
