import type { Deps } from "../deps.ts";
import { HttpError, notFound } from "../errors.ts";
import { currentStatus } from "../presenters/gameSession.ts";
import { findGameSession } from "../stores/gameSessionStore.ts";

/** Address of the pod that streams the user's session. Throws not_found, and not_running before and after it runs. */
export async function findStreamer({ postgres, cluster }: Pick<Deps, "postgres" | "cluster">, userId: string, id: string): Promise<string> {
  const row = await findGameSession(postgres.pool, id, userId);
  if (row === undefined) throw notFound("There is no such session.");
  const gameSession = cluster.gameSession(id);
  const podIp = gameSession?.status?.podRef?.ip;
  if (currentStatus(row, gameSession) !== "running" || podIp === undefined) {
    throw new HttpError("not_running", { message: "The session is not running." });
  }
  return podIp;
}
