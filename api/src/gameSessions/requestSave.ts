import type { ClusterView } from "../cluster/clusterView.ts";
import type { GameSessionWriter } from "../cluster/gameSessionWriter.ts";
import { DomainError, notFound, unavailable } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import { findDatedGameSession } from "./gameSessionQueries.ts";
import { currentStatus } from "./present.ts";

/** What asking for a save needs. */
export interface RequestSaveDeps {
  postgres: Postgres;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
}

/**
 * Asks the node of the user's session to store what is played now; the recorder keeps it as a version when it
 * is stored, and dates it by this request: so the request's time is the database's, by which all ages of
 * versions go. Throws not_found, not_running and unavailable.
 */
export async function requestSave(
  { postgres, cluster, gameSessionWriter }: RequestSaveDeps,
  userId: string,
  id: string,
): Promise<void> {
  const row = await findDatedGameSession(postgres.pool, id, userId);
  if (row === undefined) throw notFound("There is no such session.");
  if (currentStatus(row, cluster.gameSession(id)) !== "running") throw notRunning();
  const isThere = await gameSessionWriter.requestSave(id, row.now).catch((cause: unknown) => {
    throw unavailable("The game server cannot be reached just now: try again in a moment.", cause);
  });
  if (!isThere) throw notRunning();
}

function notRunning(): DomainError {
  return new DomainError("not_running", {
    message: "This session is not running: there is nothing to save.",
  });
}
