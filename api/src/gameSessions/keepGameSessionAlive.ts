import { limits } from "#contracts/limits.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { GameSessionWriter } from "../cluster/gameSessionWriter.ts";
import { notFound } from "../errors.ts";
import { updateGameSessionExpiry, type Keepalive } from "./gameSessionQueries.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What a keepalive needs. */
export interface KeepaliveDeps {
  logger: Logger;
  postgres: Postgres;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
}

/** Moves the idle expiry of the user's session and returns the new one. Throws not_found, also when the session has ended. */
export async function keepGameSessionAlive(deps: KeepaliveDeps, userId: string, id: string): Promise<Date> {
  const keepalive = await updateGameSessionExpiry(deps.postgres.pool, id, userId);
  if (keepalive === undefined) throw notFound("There is no such session, or it has ended.");
  // Nobody waits for it: the row decides, and the next keepalive tries again.
  void extendInCluster(deps, id, keepalive);
  return keepalive.expiresAt;
}

/** Moves the object's expiry, when it is near: the operator must not find a session idle before the sweeper does. */
async function extendInCluster({ logger, cluster, gameSessionWriter }: KeepaliveDeps, id: string, { expiresAt, idleTimeoutSeconds }: Keepalive): Promise<void> {
  const known = cluster.gameSession(id)?.spec.expiresAt;
  if (known === undefined || new Date(known) >= expiresAt) return;
  const moved = new Date(expiresAt.getTime() + (limits.gameSession.expiryMargin - 1) * idleTimeoutSeconds * 1000);
  try {
    await gameSessionWriter.extend(id, moved);
  } catch (error) {
    logger.warn({ err: error, gameSession: id }, "The API could not extend a game session in the cluster; the next keepalive tries again.");
  }
}
