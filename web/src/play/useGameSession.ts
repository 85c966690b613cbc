import { useCallback, useEffect, useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { GameSessionStatusResponse, StopResponse } from "#contracts/http/gameSessions.ts";
import { stopGameSession } from "../client/gameSessions.ts";
import { isApiError } from "../client/apiError.ts";
import { refreshAuthSession } from "../signIn/useAuth.ts";
import { gameSessionQuery } from "./gameSessionQuery.ts";
import { ownSession } from "./ownSession.ts";
import { isFinal, pollPauseMs } from "./pollPause.ts";
import { useGameSessionEvents } from "./useGameSessionEvents.ts";
import { useKeepalive } from "./useKeepalive.ts";

/** For how long it is said that a stop failed. */
const stopErrorMs = 8_000;

export interface GameSessionView {
  /** Undefined until the first response, and once the player has no such session. */
  session: GameSessionStatusResponse | undefined;
  /** Why the status could not be read; null again after it was. */
  error: Error | null;
  /** Why the session could not be stopped; null again after some seconds, and with the next attempt. */
  stopError: Error | null;
  /** True from the player's wish to stop until the session has ended. */
  isStopping: boolean;
  /** Statistics of an ended session. */
  statistics: StopResponse | undefined;
  /** Reads the status now instead of at the next poll. */
  refresh: () => void;
  stop: () => void;
  /** When the session stops as idle unless it is kept alive; undefined while it does not run. */
  expiresAt: string | undefined;
}

/**
 * Observes one game session until its end: by server-sent events, and by polling where they do not get
 * through.
 */
export function useGameSession(sessionId: string): GameSessionView {
  const client = useQueryClient();
  const [isSubscribed, setIsSubscribed] = useState(false);
  const { data, error: queryError } = useQuery({
    ...gameSessionQuery(sessionId),
    enabled: ({ state }) => !isFinal(state.data, state.error),
    refetchInterval: ({ state }) => pollPauseMs({ session: state.data, error: state.error, isSubscribed }),
    // A game goes on starting while its tab is hidden.
    refetchIntervalInBackground: true,
  });
  const error = useLastError(data, queryError);
  const session = ownSession(data, error);
  const isUnknown = isApiError(error, "not_found");
  useEffect(() => {
    // Somebody else may have signed in since.
    if (isUnknown) refreshAuthSession(client);
  }, [client, isUnknown]);
  useGameSessionEvents(sessionId, !isFinal(session, error), setIsSubscribed);
  const refresh = useCallback(
    () => void client.invalidateQueries({ queryKey: gameSessionQuery(sessionId).queryKey }),
    [client, sessionId],
  );
  const expiresAt = useKeepalive(sessionId, session, refresh);
  const ended = useQuery({
    queryKey: ["endedGameSession", sessionId],
    // One request stops the session and returns its statistics; of an ended session it only returns them.
    queryFn: () => stopGameSession(sessionId),
    enabled: session?.status === "stopped",
    staleTime: Infinity,
  });
  const { refetch: requestEnd } = ended;
  const stop = useCallback(() => void requestEnd().then(refresh), [requestEnd, refresh]);
  // The answer that it has ended comes before the status that says so, which may have to be read first.
  const isStopping = ended.isFetching || (ended.data !== undefined && !isFinal(session, error));
  return {
    session,
    error,
    stopError: useRecent(ended.error, stopErrorMs),
    isStopping,
    statistics: ended.data,
    refresh,
    stop,
    expiresAt,
  };
}

/** Returns the error for as long as it is worth saying. */
function useRecent(error: Error | null, ms: number): Error | null {
  const [passed, setPassed] = useState<Error | null>(null);
  useEffect(() => {
    if (error === null) return undefined;
    const timer = setTimeout(() => setPassed(error), ms);
    return () => clearTimeout(timer);
  }, [error, ms]);
  return error === passed ? null : error;
}

/**
 * Returns the query's error. Without data a query forgets it with each new attempt; then it is the last one,
 * until an attempt succeeds.
 */
function useLastError(data: unknown, error: Error | null): Error | null {
  const [last, setLast] = useState(error);
  const current = error ?? (data === undefined ? last : null);
  if (current !== last) setLast(current);
  return current;
}
