import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import type { Logger } from "#runtime/logger.ts";
import type { GameCacheWriter } from "../cluster/gameCacheWriter.ts";
import { claimGameBehind, markCacheApplied, type GameBehind, type StoredVersion } from "./gameVersionStore.ts";
import type { ObjectStore } from "../stores/objectStore.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What bringing GameCaches up to date needs. */
export interface FollowDeps {
  logger: Logger;
  postgres: Postgres;
  gameCacheWriter: GameCacheWriter;
  objectStore: ObjectStore;
}

const mostPerPass = 100;

/** Brings GameCaches up to their games' last change: all that are behind, whatever died before it could. */
export async function followGameCaches(deps: FollowDeps): Promise<void> {
  const seen: string[] = [];
  while (seen.length < mostPerPass) {
    const gameId = await followOne(deps, undefined, seen);
    if (gameId === undefined) return;
    seen.push(gameId);
  }
}

/** The same for one game, right after its change. */
export async function followGameCache(deps: FollowDeps, gameId: string): Promise<void> {
  await followOne(deps, gameId, []);
}

/** The game's lock keeps an older change from overtaking a newer one on its way to the cluster. */
async function followOne(deps: FollowDeps, gameId: string | undefined, skip: readonly string[]): Promise<string | undefined> {
  return deps.postgres.transaction(async (transaction) => {
    const game = await claimGameBehind(transaction, gameId, skip);
    if (game === undefined) return undefined;
    if (await follow(deps, game)) await markCacheApplied(transaction, game.id, game.revision);
    return game.id;
  });
}

/** False when it has to wait: sessions of a deleted game go on, and their nodes need the GameCache until they end. */
async function follow({ gameCacheWriter, objectStore, logger }: FollowDeps, game: GameBehind): Promise<boolean> {
  const { slug, current, played } = game;
  if (game.isDeleted) {
    if (game.activeSessions > 0) return false;
    await gameCacheWriter.delete(slug);
    logger.info({ game: slug }, "The cache of a deleted game was removed.");
  } else if (current !== null) {
    await gameCacheWriter.apply(slug, sourceOf(objectStore.bucket, current), previousSources(objectStore.bucket, current, played));
    logger.info({ game: slug, digest: current.sha256 }, "The cache of a game was brought up to date.");
  }
  return true;
}

/** One source per digest: an archive that was uploaded again is the same version. */
function previousSources(bucket: string, current: StoredVersion, played: readonly StoredVersion[]): ArchiveSource[] {
  const byDigest = new Map(played.map((version) => [version.sha256, sourceOf(bucket, version)]));
  byDigest.delete(current.sha256);
  return [...byDigest.values()];
}

function sourceOf(bucket: string, { objectKey, sha256, sizeBytes, unpackedSizeBytes }: StoredVersion): ArchiveSource {
  return { bucket, key: objectKey, sha256, sizeBytes, unpackedSizeBytes };
}
