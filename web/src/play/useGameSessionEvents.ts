import { useEffect, useState, type Dispatch, type SetStateAction } from "react";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { followGameSession } from "../client/gameSessionEvents.ts";

/** Takes the session's events for as long as `isWanted`; says whether their stream is open. */
export function useGameSessionEvents(
  sessionId: string, isWanted: boolean,
  setSession: Dispatch<SetStateAction<GameSessionStatusResponse | undefined>>, setError: (error: unknown) => void,
): boolean {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    if (!isWanted) return;
    const unfollow = followGameSession(sessionId, {
      onOpen: setIsOpen,
      onStatus: (told) => {
        setSession((known) => newerOf(known, told));
        setError(undefined);
      },
      onExpiring: (expiresAt) => setSession((known) => known && { ...known, expiresAt }),
    });
    return () => {
      unfollow();
      setIsOpen(false);
    };
  }, [sessionId, isWanted, setSession, setError]);
  return isOpen;
}

const order = ["starting", "running", "stopping", "stopped", "error"] satisfies GameSessionStatusResponse["status"][];

/** An answer that was on its way while an event came may be older than it: a session never goes back. */
export function newerOf(known: GameSessionStatusResponse | undefined, told: GameSessionStatusResponse): GameSessionStatusResponse {
  return known !== undefined && order.indexOf(told.status) < order.indexOf(known.status) ? known : told;
}
