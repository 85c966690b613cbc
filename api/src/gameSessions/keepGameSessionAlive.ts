import type { Logger } from "#runtime/logger.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { GameSessionWriter } from "../cluster/gameSessionWriter.ts";
import { notFound } from "../errors.ts";
import { expiryMargin } from "./buildGameSessionSpec.ts";
import { extendGameSession, type Keepalive } from "./gameSessionStore.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What a keepalive needs. */
export interface KeepaliveDeps {
  logger: Logger;
  postgres: Postgres;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
}

/** Puts off the idle end of the user's session; gives when it would come now. Throws not_found, also when it has ended. */
export async function keepGameSessionAlive(deps: KeepaliveDeps, userId: string, id: string): Promise<Date> {
  const keepalive = await extendGameSession(deps.postgres.pool, id, userId);
  if (keepalive === undefined) throw notFound("There is no such session, or it has ended.");
  // Not waited for: the row decides, and the next keepalive tries again.
  void moveBackstop(deps, id, keepalive);
  return keepalive.expiresAt;
}

/** The operator must not find a session idle before the sweeper does; its moment moves ahead only when it comes near. */
async function moveBackstop({ logger, cluster, gameSessionWriter }: KeepaliveDeps, id: string, { expiresAt, idleTimeoutSeconds }: Keepalive): Promise<void> {
  const known = cluster.gameSession(id)?.spec.expiresAt;
  if (known === undefined || new Date(known) >= expiresAt) return;
  const moved = new Date(expiresAt.getTime() + (expiryMargin - 1) * idleTimeoutSeconds * 1000);
  try {
    await gameSessionWriter.extend(id, moved);
  } catch (error) {
    logger.warn({ err: error, gameSession: id }, "The expiry of a game session could not be moved in the cluster; the next keepalive tries again.");
  }
}
