import type { GameSession } from "#contracts/crd/gameSession.ts";
import { limits } from "#contracts/limits.ts";
import { isOngoing, publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { Stored } from "#kube/api/object.ts";
import { findGameSession, type GameSessionRow } from "./gameSessionQueries.ts";
import type { Deps } from "../../deps.ts";

/**
 * Returns the user's session; undefined if it does not exist or ended too long ago. While the database is
 * unavailable it is read from the cluster.
 *
 * @throws DomainError `unavailable` during an outage if the cluster has no such session of the user: only the
 *   database knows whether it ever existed.
 */
export async function readGameSession(
  { postgres, databaseOutages, cluster }: Pick<Deps, "postgres" | "databaseOutages" | "cluster">,
  id: string,
  userId: string,
): Promise<GameSessionRow | undefined> {
  return databaseOutages.orElse(
    () => findGameSession(postgres.pool, id, userId),
    (unavailable) => {
      const gameSession = cluster.gameSession(id);
      if (gameSession?.spec.userId !== userId) throw unavailable;
      return rowOf(gameSession);
    },
  );
}

/**
 * Returns the part of the row that the object contains: without a result, and with the game's slug as its
 * title.
 */
function rowOf(gameSession: Stored<GameSession>): GameSessionRow {
  const { metadata, spec, status } = gameSession;
  const shown = publicStatusOf(gameSession);
  return {
    id: metadata.name,
    // An end is shown once its result can be read.
    status: isOngoing(shown) ? shown : "stopping",
    gameSlug: spec.gameCacheRef.name,
    gameTitle: spec.gameCacheRef.name,
    startedAt: new Date(metadata.creationTimestamp),
    readyAt: status?.readyAt === undefined ? null : new Date(status.readyAt),
    expiresAt:
      spec.expiresAt === undefined
        ? null
        : new Date(
            Date.parse(spec.expiresAt) -
              (limits.gameSession.expiryMargin - 1) * spec.idleTimeoutSeconds * 1000,
          ),
    stopReason: status?.stopReason ?? spec.stopReason ?? null,
    stoppingAt: status?.stoppingAt === undefined ? null : new Date(status.stoppingAt),
    durationSeconds: null,
    cpuSeconds: null,
    peakMemoryMb: null,
    saveNotice: null,
    fullFolders: [],
    earlierSave: null,
    failureReason: status?.failure?.reason ?? null,
    playLimitEndsAt: null,
    stream: spec.stream,
    queue: null,
    maxDurationSeconds: spec.maxDurationSeconds,
  };
}
