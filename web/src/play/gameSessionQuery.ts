import { queryOptions } from "@tanstack/react-query";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { readGameSession } from "../client/gameSessions.ts";
import { newerOf } from "./newerOf.ts";

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
