import { useCallback, useEffect, useRef, useState } from "react";
import type { GameSessionStatusResponse, StopResponse } from "#contracts/http/gameSessions.ts";
import { limits } from "#contracts/limits.ts";
import { isApiError } from "../client/apiError.ts";
import { keepGameSession, readGameSession } from "../client/api.ts";
import { keepalivePauseMs, shortestKeepaliveMs } from "./keepalivePause.ts";
import { newerOf, useGameSessionEvents } from "./useGameSessionEvents.ts";
import { stopAndWait } from "../launch/useLaunch.ts";

const pollMs = limits.gameSession.pollIntervalSeconds * 1_000;
/** While the game runs the stream itself tells most ends; this catches the rest. */
const runningPollMs = 10_000;
/** Beside an open stream of events, which tells everything: only in case that it does not. */
const followedPollMs = 60_000;

export interface GameSessionView {
  /** Undefined until the first answer. */
  session: GameSessionStatusResponse | undefined;
  /** The last question's failure; undefined again after an answer. */
  error: unknown;
  /** The player asked for the end and it has not come yet. */
  isStopping: boolean;
  /** Of an ended session. */
  statistics: StopResponse | undefined;
  /** Asks at once instead of at the next turn. */
  refresh: () => void;
  stop: () => void;
  /** When the session stops as idle unless it is kept alive; undefined before it runs. */
  expiresAt: string | undefined;
}

/** Follows one game session until its end. `onError` hears of every failed request. */
export function useGameSession(sessionId: string, onError: (error: unknown) => void): GameSessionView {
  const [session, setSession] = useState<GameSessionStatusResponse>();
  const [error, setError] = useState<unknown>();
  const [isStopping, setIsStopping] = useState(false);
  const [round, setRound] = useState(0);
  const refresh = useCallback(() => setRound((count) => count + 1), []);
  const fail = useCallback((failure: unknown) => {
    onError(failure);
    setError(failure);
  }, [onError]);

  const hasEnded = session?.status === "stopped" || session?.status === "error";
  const isGone = isApiError(error, "not_found", "unauthorized");
  const isFollowing = useGameSessionEvents(sessionId, !hasEnded && !isGone, setSession, setError);
  usePolling(useCallback(async (signal: AbortSignal) => {
    try {
      const answer = await readGameSession(sessionId, signal);
      if (signal.aborted) return;
      setSession((known) => newerOf(known, answer));
      setError(undefined);
    } catch (failure) {
      if (!signal.aborted) fail(failure);
    }
  }, [sessionId, fail]), hasEnded || isGone ? undefined : isFollowing ? followedPollMs : session?.status === "running" ? runningPollMs : pollMs, round);

  const expiresAt = useKeepalive(sessionId, session, refresh);
  const { statistics, read } = useStopStatistics(sessionId);

  useEffect(() => {
    if (session?.status === "stopped") read().catch(fail);
  }, [session?.status, read, fail]);

  const stop = useCallback(() => {
    setIsStopping(true);
    read().catch(fail).finally(() => {
      setIsStopping(false);
      refresh();
    });
  }, [read, fail, refresh]);

  return { session, error, isStopping, statistics, refresh, stop, expiresAt };
}

/** Asks now, whenever `round` changes, and `intervalMs` after each answer; never when `intervalMs` is undefined. */
function usePolling(ask: (signal: AbortSignal) => Promise<void>, intervalMs: number | undefined, round: number): void {
  useEffect(() => {
    if (intervalMs === undefined) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const turn = async (): Promise<void> => {
      await ask(abort.signal);
      if (!abort.signal.aborted) timer = setTimeout(() => void turn(), intervalMs);
    };
    void turn();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [ask, intervalMs, round]);
}

/** Keeps a running session alive; gives the newest known moment of its idle end. */
function useKeepalive(sessionId: string, session: GameSessionStatusResponse | undefined, refresh: () => void): string | undefined {
  const [kept, setKept] = useState<string>();
  const isRunning = session?.status === "running";
  useEffect(() => {
    if (!isRunning) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const keep = (): void => {
      keepGameSession(sessionId, abort.signal).then(
        ({ expiresAt }) => {
          setKept(expiresAt);
          again(keepalivePauseMs(expiresAt, Date.now()));
        },
        () => {
          if (abort.signal.aborted) return;
          // The status tells whether the session is over or only the line is; the warning comes from expiresAt either way.
          refresh();
          again(shortestKeepaliveMs);
        },
      );
    };
    const again = (pauseMs: number): void => {
      if (!abort.signal.aborted) timer = setTimeout(keep, pauseMs);
    };
    keep();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [sessionId, isRunning, refresh]);
  const told = session?.expiresAt;
  if (!isRunning) return undefined;
  return kept === undefined || (told !== undefined && told > kept) ? told : kept;
}

/** Stops the session if it runs, and reads its statistics; asked for once however many ask. */
function useStopStatistics(sessionId: string): { statistics: StopResponse | undefined; read: () => Promise<void> } {
  const [statistics, setStatistics] = useState<StopResponse>();
  const pending = useRef<Promise<void>>(undefined);
  const read = useCallback((): Promise<void> => {
    pending.current ??= stopAndWait(sessionId).then(setStatistics).finally(() => {
      pending.current = undefined;
    });
    return pending.current;
  }, [sessionId]);
  return { statistics, read };
}
