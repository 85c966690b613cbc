import { queryOptions, useQuery, type QueryClient } from "@tanstack/react-query";
import type { GameSessionsResponse } from "#contracts/http/gameSessions.ts";
import { listGameSessions } from "../client/gameSessions.ts";
import { useMaintenance } from "../service/useServiceStatus.ts";

export type ActiveGameSession = GameSessionsResponse["sessions"][number];

const activeGameSessionQuery = queryOptions({
  queryKey: ["activeGameSession"],
  queryFn: async ({ signal }) => (await listGameSessions(signal))[0] ?? null,
  refetchInterval: 30_000,
  refetchOnWindowFocus: true,
});

/**
 * Returns the player's active session, if any. It is read now and then and on return to the tab; after a
 * failure the last one stays.
 */
export function useActiveGameSession(): ActiveGameSession | undefined {
  return useQuery(activeGameSessionQuery).data ?? undefined;
}

/** Reads the active session again for all components that show it. */
export function refreshActiveGameSession(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: activeGameSessionQuery.queryKey });
}

/**
 * Returns why no new game would start just now, in a sentence for the player; undefined while the page knows
 * of nothing.
 */
export function useLaunchObstacle(): string | undefined {
  const maintenance = useMaintenance();
  const active = useActiveGameSession();
  if (maintenance !== undefined) return "Joypod is being worked on, and no game can be started just now.";
  if (active === undefined) return undefined;
  return active.status === "stopping"
    ? `${active.gameTitle} is still being saved, and only one game can run at a time.`
    : `${active.gameTitle} is still running, and only one game can run at a time. Stop it first.`;
}
