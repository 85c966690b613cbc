import { useQuery } from "@tanstack/react-query";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { keepGameSessionAlive } from "../client/gameSessions.ts";
import { failedKeepalivePauseMs, keepalivePauseMs } from "./keepalivePause.ts";

/** Keeps a running session alive; returns when it stops as idle without another keepalive, or undefined while it does not run. */
export function useKeepalive(sessionId: string, session: GameSessionStatusResponse | undefined, onFailure: () => void): string | undefined {
  const isRunning = session?.status === "running";
  const { data } = useQuery({
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
    refetchInterval: ({ state: { data: kept, error } }) => (kept === undefined || error !== null ? failedKeepalivePauseMs : keepalivePauseMs(kept.leftMs)),
    // The game goes on while its tab is hidden.
    refetchIntervalInBackground: true,
  });
  if (!isRunning) return undefined;
  return laterOf(session.expiresAt, data?.expiresAt);
}

/** Both are UTC moments in ISO form, whose order is that of their text. */
function laterOf(first: string | undefined, second: string | undefined): string | undefined {
  return first === undefined || (second !== undefined && second >= first) ? second : first;
}
