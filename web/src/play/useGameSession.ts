import { useCallback, useEffect, useState } from "react";
import { useQuery, useQueryClient, queryOptions } from "@tanstack/react-query";
import type {
  GameSessionEnding,
  GameSessionStatusResponse,
  StopResponse,
} from "#contracts/http/gameSessions.ts";
import { isApiError } from "../client/apiError.ts";
import {
  stopGameSession,
  readGameSession,
  keepGameSessionAlive,
  type Kept,
  subscribeToGameSession,
} from "../client/gameSessions.ts";
import { KeepaliveSchedule } from "./keepaliveSchedule.ts";
import type { Presence } from "./presence.ts";
import { refreshAuthSession } from "../signIn/useAuth.ts";
import {
  knownSession,
  isFinal,
  pollPauseMs,
  newerStatus,
  failedKeepalivePauseMs,
  keepalivePauseMs,
} from "./gameSessionStatus.ts";

/** A failed stop is reported for this long. */
const stopErrorMs = 8_000;

export interface GameSessionView {
  /** Undefined before the first response, and if the player has no such session. */
  session: GameSessionStatusResponse | undefined;
  /** Why the last read of the status failed; null after a successful one. */
  error: Error | null;
  /** Why the session could not be stopped; null after some seconds and with the next attempt. */
  stopError: Error | null;
  /** True from the request to stop until the session has ended. */
  isStopping: boolean;
  /** Statistics of an ended session. */
  statistics: StopResponse | undefined;
  /** Reads the status now instead of at the next poll. */
  refresh: () => void;
  stop: () => void;
  /** End of the session as idle without another keepalive; undefined while it is not running. */
  expiresAt: string | undefined;
  /** Whether the last keepalive failed. */
  isCutOff: boolean;
  /** The end that is known in advance, by the local clock. */
  ending: GameSessionEnding | undefined;
}

/**
 * Follows one game session until its end: by server-sent events, or by polling if they do not arrive. Keeps
 * it alive while somebody plays.
 */
export function useGameSession(sessionId: string, presence: Presence): GameSessionView {
  const client = useQueryClient();
  const [isSubscribed, setIsSubscribed] = useState(false);
  const { data, error: queryError } = useQuery({
    ...gameSessionQuery(sessionId),
    enabled: ({ state }) => !isFinal(state.data, state.error),
    refetchInterval: ({ state }) => pollPauseMs({ session: state.data, error: state.error, isSubscribed }),
    // A game continues to start while its tab is hidden.
    refetchIntervalInBackground: true,
  });
  const error = useLastError(data, queryError);
  const session = knownSession(data, error);
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
  const { expiresAt, isCutOff, ending } = useKeepalive(sessionId, session, presence, refresh);
  const ended = useQuery({
    queryKey: ["endedGameSession", sessionId],
    // The request stops a running session and returns the statistics of an ended one.
    queryFn: () => stopGameSession(sessionId),
    enabled: session?.status === "stopped",
    staleTime: Infinity,
  });
  const { refetch: requestEnd } = ended;
  const stop = useCallback(() => void requestEnd().then(refresh), [requestEnd, refresh]);
  // The response that it has ended may arrive before a status that reports the end.
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
    isCutOff,
    ending,
  };
}

/** Returns the error for `ms` milliseconds. */
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
 * Returns the query's error. A query without data forgets its error with each new attempt; this keeps it
 * until an attempt succeeds.
 */
function useLastError(data: unknown, error: Error | null): Error | null {
  const [last, setLast] = useState(error);
  const current = error ?? (data === undefined ? last : null);
  if (current !== last) setLast(current);
  return current;
}

/**
 * Returns the query of a session's status. Polling and events write to the same entry, which keeps the newest
 * status.
 */
export function gameSessionQuery(sessionId: string) {
  return queryOptions({
    queryKey: ["gameSession", sessionId],
    queryFn: async ({ client, queryKey, signal }) => {
      const received = await readGameSession(sessionId, signal);
      return newerStatus(client.getQueryData<GameSessionStatusResponse>(queryKey), received);
    },
  });
}

/** Writes the session's events to its query while `isWanted`, and reports whether they arrive. */
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
      onStatus: (session) => void client.setQueryData(queryKey, (known) => newerStatus(known, session)),
      onExpiring: (expiresAt) =>
        void client.setQueryData(queryKey, (known) => known && { ...known, expiresAt }),
      onEnding: (ending) => void client.setQueryData(queryKey, (known) => known && { ...known, ending }),
      onOpen: (isOpen) => {
        setIsSubscribed(isOpen);
        // Events may have been lost since the stream broke off.
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
 * Keeps a running session alive while somebody plays: opening the page counts, and so does the return to its
 * window. Returns the end of the session as idle without another keepalive, by the local clock after the
 * first keepalive; undefined while the session is not running.
 */
function useKeepalive(
  sessionId: string,
  session: GameSessionStatusResponse | undefined,
  presence: Presence,
  onFailure: () => void,
): Pick<GameSessionView, "expiresAt" | "isCutOff" | "ending"> {
  const isRunning = session?.status === "running";
  const [schedule] = useState(() => new KeepaliveSchedule());
  const {
    data: kept,
    dataUpdatedAt: keptAt,
    error,
    refetch,
  } = useQuery({
    queryKey: ["keepalive", sessionId],
    queryFn: async ({ signal }) => {
      schedule.sending();
      try {
        return await keepGameSessionAlive(sessionId, signal);
      } catch (error) {
        schedule.failed();
        // The status shows whether the session has ended or only the connection failed.
        onFailure();
        throw error;
      }
    },
    enabled: isRunning,
    // A keepalive that failed is retried, also while the tab is hidden. The schedule sends all others.
    refetchInterval: ({ state }) =>
      state.data === undefined || state.error !== null ? failedKeepalivePauseMs : false,
    refetchIntervalInBackground: true,
    // Timers stop while a machine sleeps and requests without a network fail: the session may be about to
    // stop.
    refetchOnWindowFocus: "always",
    refetchOnReconnect: () => (schedule.hasInput ? "always" : false),
  });
  useEffect(() => presence.subscribe(() => schedule.noteInput()), [presence, schedule]);
  useEffect(
    () => (isRunning ? schedule.start(() => void refetch({ cancelRefetch: false })) : undefined),
    [schedule, isRunning, refetch],
  );
  useEffect(() => {
    if (kept !== undefined) schedule.kept(keepalivePauseMs(kept.leftMs));
  }, [schedule, kept, keptAt]);
  if (!isRunning) return { expiresAt: undefined, isCutOff: false, ending: undefined };
  const local = (moment: string): string =>
    kept === undefined ? moment : toLocalClock(moment, kept, keptAt);
  const expiresAt = laterTime(session.expiresAt, kept?.expiresAt);
  const { ending } = session;
  return {
    expiresAt: expiresAt === undefined ? undefined : local(expiresAt),
    isCutOff: error !== null,
    ending: ending && { ...ending, at: local(ending.at) },
  };
}

/**
 * Converts a time of the server's clock to the local clock, which may be hours off. A keepalive reveals the
 * difference.
 */
function toLocalClock(moment: string, { expiresAt, leftMs }: Kept, keptAt: number): string {
  const aheadMs = Date.parse(expiresAt) - leftMs - keptAt;
  return new Date(Date.parse(moment) - aheadMs).toISOString();
}

/** Both are UTC times in ISO form, whose order is that of their text. */
function laterTime(first: string | undefined, second: string | undefined): string | undefined {
  return first === undefined || (second !== undefined && second >= first) ? second : first;
}
