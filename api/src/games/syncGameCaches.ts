import type { ArchiveSource, GameCache } from "#contracts/crd/gameCache.ts";
import { isRefused } from "#kube/api/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { GameCacheWriter } from "../cluster/gameCacheWriter.ts";
import {
  findOutdatedGame,
  lockOutdatedGame,
  updateCacheApplied,
  type OutdatedGame,
  type StoredVersion,
  updateLostCachesOutdated,
  type ClusterGameCache,
} from "./gameCacheQueries.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { unavailable } from "../errors.ts";

/** What updating GameCaches needs. */
export interface SyncGameCachesDeps {
  logger: Logger;
  postgres: Postgres;
  gameCacheWriter: GameCacheWriter;
  gameCacheTurns: BoundedQueue;
  objectStore: ObjectStore;
}

const gamesPerPassMax = 100;

/** Updates every outdated GameCache to its game's last change, including changes by processes that died. */
export async function syncGameCaches(deps: SyncGameCachesDeps): Promise<void> {
  const seen: string[] = [];
  while (seen.length < gamesPerPassMax) {
    const gameId = await syncOne(deps, undefined, seen);
    if (gameId === undefined) return;
    seen.push(gameId);
  }
}

/**
 * Updates the GameCache of a game right after its change. If another update is in progress, the next pass
 * does it.
 */
export async function syncGameCache(deps: SyncGameCachesDeps, gameId: string): Promise<void> {
  await syncOne(deps, gameId, []);
}

/**
 * The lock keeps an older change from overtaking a newer one. It is not on the game's row, so changes to the
 * game do not wait for the cluster.
 */
async function syncOne(
  deps: SyncGameCachesDeps,
  wantedId: string | undefined,
  skip: readonly string[],
): Promise<string | undefined> {
  return deps.gameCacheTurns.run(() =>
    deps.postgres.transaction(async (transaction) => {
      const gameId = await lockOutdatedGame(transaction, wantedId, skip);
      if (gameId === undefined) return undefined;
      const game = await findOutdatedGame(transaction, gameId);
      if (game !== undefined && (await syncUnlessRefused(deps, game)))
        await updateCacheApplied(transaction, game.id, game.revision);
      return gameId;
    }),
  );
}

/**
 * Returns false also when the cluster rejects this GameCache, for example because of a quota or a policy. The
 * GameCaches of later games must not wait for it.
 */
async function syncUnlessRefused(deps: SyncGameCachesDeps, game: OutdatedGame): Promise<boolean> {
  try {
    return await sync(deps, game);
  } catch (error) {
    if (!isRefused(error)) throw error;
    deps.logger.warn(
      { err: error, game: game.slug },
      "The cluster rejected a change to a game's GameCache; the API will retry.",
    );
    return false;
  }
}

/**
 * Returns false when it has to wait: sessions of a deleted game continue, and their nodes need the GameCache
 * until they end.
 */
async function sync(
  { gameCacheWriter, objectStore, logger }: SyncGameCachesDeps,
  game: OutdatedGame,
): Promise<boolean> {
  const { slug, current, previous } = game;
  if (game.isDeleted) {
    if (game.activeSessions > 0) return false;
    await gameCacheWriter.delete(slug);
    logger.info({ game: slug }, "The API removed the GameCache of a deleted game.");
  } else if (current !== null) {
    await gameCacheWriter.apply(
      slug,
      sourceOf(objectStore.bucket, current),
      previousSources(objectStore.bucket, current, previous),
    );
    logger.info({ game: slug, digest: current.sha256 }, "The API updated a game's GameCache.");
  }
  return true;
}

/** Returns one source per digest, because an archive that was uploaded again is the same version. */
function previousSources(
  bucket: string,
  current: StoredVersion,
  previous: readonly StoredVersion[],
): ArchiveSource[] {
  const byDigest = new Map(previous.map((version) => [version.sha256, sourceOf(bucket, version)]));
  byDigest.delete(current.sha256);
  return [...byDigest.values()];
}

function sourceOf(
  bucket: string,
  { objectKey, sha256, sizeBytes, unpackedSizeBytes }: StoredVersion,
): ArchiveSource {
  return { bucket, key: objectKey, sha256, sizeBytes, unpackedSizeBytes };
}

/** Dependencies of finding lost GameCaches. */
export interface LostGameCachesDeps {
  logger: Logger;
  clock: Clock;
  postgres: Postgres;
  cluster: ClusterView;
}

/** Interval between comparisons when the cluster reports no deletion. */
const comparisonIntervalMs = 60_000;

/**
 * Finds games whose GameCache does not match the database and marks them as outdated, so it is recreated. An
 * admin may have deleted the GameCache or its namespace, the cluster may be new, or its storage may have been
 * restored from a backup with an earlier state. All games are compared at the start, after each deletion that
 * the cluster reports, and once a minute.
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

  /** Compares the database with the cluster when a comparison is due. */
  async pass(): Promise<void> {
    const { postgres, cluster, clock, logger } = this.#deps;
    if (!cluster.gameCaches.hasSynced || clock.monotonicMs() < this.#dueMs) return;
    const previousDueMs = this.#dueMs;
    this.#dueMs = clock.monotonicMs() + comparisonIntervalMs;
    try {
      const slugs = await updateLostCachesOutdated(
        postgres.pool,
        cluster.gameCaches.cache.list().map(toClusterGameCache),
      );
      if (slugs.length > 0)
        logger.warn(
          { games: slugs.length, first: slugs.slice(0, 10) },
          "The cluster has lost changes to GameCaches; the API will repeat them.",
        );
    } catch (error) {
      this.#dueMs = previousDueMs;
      throw error;
    }
  }

  /** Stops watching the cluster. */
  stop(): void {
    this.#unsubscribe();
  }
}

function toClusterGameCache(cache: Stored<GameCache>): ClusterGameCache {
  return { slug: cache.metadata.name, objectKey: cache.spec.source.key, isDeleting: isDeleting(cache) };
}

/**
 * Returns a queue that limits concurrent writes of GameCaches. Each write holds a database connection until
 * the API server responds, so a slow API server would otherwise use up all connections.
 */
export function createGameCacheQueue(): BoundedQueue {
  return new BoundedQueue({
    concurrency: 2,
    waitingMax: 16,
    deadlineMs: 3_000,
    tooMany: () => unavailable("The cluster is slow to update GameCaches right now."),
  });
}
