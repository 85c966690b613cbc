import type { GameCache } from "#contracts/crd/gameCache.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { Postgres } from "../stores/postgres.ts";
import { updateLostCachesOutdated, type ClusterGameCache } from "./gameCacheQueries.ts";

/** What finding lost GameCaches needs. */
export interface LostGameCachesDeps {
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  cluster: ClusterView;
}

/** Between two comparisons when the cluster has told of no deletion. */
const comparisonIntervalMs = 60_000;

/**
 * Finds the games whose GameCache is not in the cluster as the database has it, and marks them as outdated,
 * so that the cache is made again of the database: an admin deleted it, or its namespace, the cluster is a
 * new one, or its storage was restored from a backup, with an earlier version of a game or a game that was
 * deleted since. It compares all games at its start, after each deletion that the cluster tells of, and once
 * a minute.
 */
export class LostGameCaches {
  readonly #deps: LostGameCachesDeps;
  readonly #unsubscribe: () => void;
  #dueMs = 0;

  constructor(deps: LostGameCachesDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.cluster.gameCaches.cache.subscribe(({ type }) => {
      if (type === "deleted") this.#dueMs = 0;
    });
  }

  /** Compares the database with the cluster when that is due. */
  async pass(): Promise<void> {
    const { postgres, cluster, clock, logger } = this.#deps;
    if (!cluster.gameCaches.hasSynced || clock.monotonicMs() < this.#dueMs) return;
    const formerlyDueMs = this.#dueMs;
    this.#dueMs = clock.monotonicMs() + comparisonIntervalMs;
    try {
      const slugs = await updateLostCachesOutdated(
        postgres.pool,
        cluster.gameCaches.cache.list().map(toClusterGameCache),
      );
      if (slugs.length > 0)
        logger.warn(
          { games: slugs.length, first: slugs.slice(0, 10) },
          "The cluster has lost changes of GameCaches; the API makes them again.",
        );
    } catch (error) {
      this.#dueMs = formerlyDueMs;
      throw error;
    }
  }

  /** Stops listening to the cluster. */
  stop(): void {
    this.#unsubscribe();
  }
}

function toClusterGameCache(cache: Stored<GameCache>): ClusterGameCache {
  return { slug: cache.metadata.name, objectKey: cache.spec.source.key, isDeleting: isDeleting(cache) };
}
