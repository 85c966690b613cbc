import { useQuery } from "@tanstack/react-query";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { keepGameSessionAlive, type Kept } from "../client/gameSessions.ts";
import { failedKeepalivePauseMs, keepalivePauseMs } from "./keepalivePause.ts";

/**
 * Keeps a running session alive; returns when it stops as idle without another keepalive, by this machine's
 * clock from the first keepalive on, or undefined while it does not run.
 */
export function useKeepalive(
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
