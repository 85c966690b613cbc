import { useQuery } from "@tanstack/react-query";
import { keepGameSessionAlive } from "../client/gameSessions.ts";
import type { PublicStatus } from "#contracts/crd/sessionState.ts";

/** Two keepalives in a row may fail before a place in the queue is lost; hidden tabs delay their timers. */
const keepaliveMs = 45_000;
const failedKeepaliveMs = 5_000;

/** A session that may be waiting, and how to read it again after a failure. */
interface WaitingSession {
  session: { status: PublicStatus } | undefined;
  isStopping: boolean;
  refresh: () => void;
}

/**
 * Keeps a session that waits in the queue or starts while the page is open, also in a hidden tab: waiting
 * needs no input. The first keepalive tells that a page that closed was reloaded.
 */
export function useWaitingKeepalive(
  sessionId: string,
  { session, isStopping, refresh }: WaitingSession,
): void {
  useQuery({
    queryKey: ["waitingKeepalive", sessionId],
    queryFn: async ({ signal }) => {
      try {
        return await keepGameSessionAlive(sessionId, signal);
      } catch (error) {
        refresh();
        throw error;
      }
    },
    enabled: session?.status === "starting" && !isStopping,
    refetchInterval: ({ state }) => (state.error === null ? keepaliveMs : failedKeepaliveMs),
    refetchIntervalInBackground: true,
    refetchOnWindowFocus: "always",
    refetchOnReconnect: "always",
  });
}
