import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { isRefused } from "#kube/api/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { GameCacheWriter } from "../cluster/gameCacheWriter.ts";
import {
  findOutdatedGame,
  lockOutdatedGame,
  updateCacheApplied,
  type OutdatedGame,
  type StoredVersion,
} from "./gameCacheQueries.ts";
import type { GameCacheTurns } from "./gameCacheTurns.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What updating GameCaches needs. */
export interface SyncGameCachesDeps {
  logger: Logger;
  postgres: Postgres;
  gameCacheWriter: GameCacheWriter;
  gameCacheTurns: GameCacheTurns;
  objectStore: ObjectStore;
}

const gamesPerPassMax = 100;

/** Updates every outdated GameCache to its game's last change, also of games whose changing process died. */
export async function syncGameCaches(deps: SyncGameCachesDeps): Promise<void> {
  const seen: string[] = [];
  while (seen.length < gamesPerPassMax) {
    const gameId = await syncOne(deps, undefined, seen);
    if (gameId === undefined) return;
    seen.push(gameId);
  }
}

/**
 * Updates the GameCache of one game, right after the game's change. Another change that is on its way to the
 * cluster leaves this one to the next pass.
 */
export async function syncGameCache(deps: SyncGameCachesDeps, gameId: string): Promise<void> {
  await syncOne(deps, gameId, []);
}

/**
 * The lock keeps an older change from overtaking a newer one on its way to the cluster. It is none on the
 * game's row: whoever changes the game does not wait for the cluster.
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
 * Returns false also when the cluster refuses this GameCache, as by a quota or a policy: those of the games
 * after it must not wait for that.
 */
async function syncUnlessRefused(deps: SyncGameCachesDeps, game: OutdatedGame): Promise<boolean> {
  try {
    return await sync(deps, game);
  } catch (error) {
    if (!isRefused(error)) throw error;
    deps.logger.warn(
      { err: error, game: game.slug },
      "The cluster refuses the change of a game's GameCache; the API tries again.",
    );
    return false;
  }
}

/**
 * Returns false when it has to wait: sessions of a deleted game go on, and their nodes need the GameCache
 * until they end.
 */
async function sync(
  { gameCacheWriter, objectStore, logger }: SyncGameCachesDeps,
  game: OutdatedGame,
): Promise<boolean> {
  const { slug, current, played } = game;
  if (game.isDeleted) {
    if (game.activeSessions > 0) return false;
    await gameCacheWriter.delete(slug);
    logger.info({ game: slug }, "The API removed the GameCache of a deleted game.");
  } else if (current !== null) {
    await gameCacheWriter.apply(
      slug,
      sourceOf(objectStore.bucket, current),
      previousSources(objectStore.bucket, current, played),
    );
    logger.info({ game: slug, digest: current.sha256 }, "The API updated a game's GameCache.");
  }
  return true;
}

/** Returns one source per digest: an archive that was uploaded again is the same version. */
function previousSources(
  bucket: string,
  current: StoredVersion,
  played: readonly StoredVersion[],
): ArchiveSource[] {
  const byDigest = new Map(played.map((version) => [version.sha256, sourceOf(bucket, version)]));
  byDigest.delete(current.sha256);
  return [...byDigest.values()];
}

function sourceOf(
  bucket: string,
  { objectKey, sha256, sizeBytes, unpackedSizeBytes }: StoredVersion,
): ArchiveSource {
  return { bucket, key: objectKey, sha256, sizeBytes, unpackedSizeBytes };
}
