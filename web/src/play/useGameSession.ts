import { useCallback, useEffect, useState } from "react";
import { useQuery, useQueryClient, queryOptions } from "@tanstack/react-query";
import type { GameSessionStatusResponse, StopResponse } from "#contracts/http/gameSessions.ts";
import {
  stopGameSession,
  readGameSession,
  keepGameSessionAlive,
  type Kept,
  subscribeToGameSession,
} from "../client/gameSessions.ts";
import { isApiError } from "../client/apiError.ts";
import { refreshAuthSession } from "../signIn/useAuth.ts";
import {
  ownSession,
  isFinal,
  pollPauseMs,
  newerOf,
  failedKeepalivePauseMs,
  keepalivePauseMs,
} from "./gameSessionStatus.ts";

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

/**
 * Returns the query of a session's status. Polling and events write to the same entry, and the newest status
 * stays.
 */
export function gameSessionQuery(sessionId: string) {
  return queryOptions({
    queryKey: ["gameSession", sessionId],
    queryFn: async ({ client, queryKey, signal }) => {
      const received = await readGameSession(sessionId, signal);
      return newerOf(client.getQueryData<GameSessionStatusResponse>(queryKey), received);
    },
  });
}

/** Writes the session's events to its query for as long as `isWanted`, and reports whether they come. */
function useGameSessionEvents(
  sessionId: string,
  isWanted: boolean,
  setIsSubscribed: (isSubscribed: boolean) => void,
): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isWanted) return;
    const { queryKey } = gameSessionQuery(sessionId);
    const unsubscribe = subscribeToGameSession(sessionId, {
      onStatus: (session) => void client.setQueryData(queryKey, (known) => newerOf(known, session)),
      onExpiring: (expiresAt) =>
        void client.setQueryData(queryKey, (known) => known && { ...known, expiresAt }),
      onOpen: (isOpen) => {
        setIsSubscribed(isOpen);
        // Events may have been missed since the stream broke off.
        if (!isOpen) void client.invalidateQueries({ queryKey });
      },
    });
    return () => {
      unsubscribe();
      setIsSubscribed(false);
    };
  }, [client, sessionId, isWanted, setIsSubscribed]);
}

/**
 * Keeps a running session alive; returns when it stops as idle without another keepalive, by this machine's
 * clock from the first keepalive on, or undefined while it does not run.
 */
function useKeepalive(
  sessionId: string,
  session: GameSessionStatusResponse | undefined,
  onFailure: () => void,
): string | undefined {
  const isRunning = session?.status === "running";
  const { data: kept, dataUpdatedAt: keptAt } = useQuery({
    queryKey: ["keepalive", sessionId],
    queryFn: async ({ signal }) => {
      try {
        return await keepGameSessionAlive(sessionId, signal);
      } catch (error) {
        // The session's status shows whether it has ended or only the connection has.
        onFailure();
        throw error;
      }
    },
    enabled: isRunning,
    refetchInterval: ({ state: { data, error } }) =>
      data === undefined || error !== null ? failedKeepalivePauseMs : keepalivePauseMs(data.leftMs),
    // The game goes on while its tab is hidden.
    refetchIntervalInBackground: true,
    // The timer stands still while a machine sleeps, and what was sent without a network is lost: the session
    // may be about to stop.
    refetchOnWindowFocus: "always",
    refetchOnReconnect: "always",
  });
  if (!isRunning) return undefined;
  const expiresAt = laterOf(session.expiresAt, kept?.expiresAt);
  return kept === undefined || expiresAt === undefined ? expiresAt : byThisClock(expiresAt, kept, keptAt);
}

/**
 * Returns a moment of the server's clock by this machine's, which may be hours off; a keepalive tells by how
 * much.
 */
function byThisClock(moment: string, { expiresAt, leftMs }: Kept, keptAt: number): string {
  const aheadMs = Date.parse(expiresAt) - leftMs - keptAt;
  return new Date(Date.parse(moment) - aheadMs).toISOString();
}

/** Both are UTC moments in ISO form, whose order is that of their text. */
function laterOf(first: string | undefined, second: string | undefined): string | undefined {
  return first === undefined || (second !== undefined && second >= first) ? second : first;
}
