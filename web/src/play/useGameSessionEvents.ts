import { useEffect } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { subscribeToGameSession } from "../client/gameSessionEvents.ts";
import { gameSessionQuery } from "./gameSessionQuery.ts";
import { newerOf } from "./newerOf.ts";

/** Writes the session's events to its query for as long as `isWanted`, and reports whether they come. */
export function useGameSessionEvents(
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
