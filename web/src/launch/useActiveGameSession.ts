import { queryOptions, useQuery, type QueryClient } from "@tanstack/react-query";
import type { GameSessionsResponse } from "#contracts/http/gameSessions.ts";
import { listGameSessions } from "../client/gameSessions.ts";
import { t } from "../i18n.ts";
import { useMaintenance } from "../service/useServiceStatus.ts";

export type ActiveGameSession = GameSessionsResponse["sessions"][number];

const activeGameSessionQuery = queryOptions({
  queryKey: ["activeGameSession"],
  queryFn: async ({ signal }) => (await listGameSessions(signal))[0] ?? null,
  refetchInterval: ({ state }) => (state.data?.queue === undefined ? 30_000 : 5_000),
  refetchOnWindowFocus: true,
});

/**
 * Returns the player's active session, if any. It is read every 30 s, or every 5 s while it waits in the
 * queue, and when the tab gets the focus; after a failure the last result stays.
 */
export function useActiveGameSession(): ActiveGameSession | undefined {
  return useQuery(activeGameSessionQuery).data ?? undefined;
}

/** Refreshes the active session in all components that show it. */
export function refreshActiveGameSession(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: activeGameSessionQuery.queryKey });
}

/**
 * Returns why no new game can start right now, as a sentence for the player; undefined if the page knows
 * none.
 */
export function useLaunchObstacle(): string | undefined {
  const maintenance = useMaintenance();
  const active = useActiveGameSession();
  if (maintenance !== undefined) return t("launch:obstacle.maintenance");
  if (active === undefined) return undefined;
  return t(`launch:obstacle.${obstacleOf(active)}`, { title: active.gameTitle });
}

function obstacleOf({ status, stage }: ActiveGameSession): "saving" | "queued" | "running" {
  if (stage === "queued") return "queued";
  return status === "stopping" ? "saving" : "running";
}
