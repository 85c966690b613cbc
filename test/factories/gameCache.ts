import type { ArchiveSource, GameCache, GameCacheSpec, GameCacheStatus } from "#contracts/crd/gameCache.ts";
import { apiVersion, type ObjectMeta } from "#contracts/crd/kind.ts";
import type { Stored } from "#kube/api/object.ts";
import { aDigest, createdAt } from "./gameSession.ts";

/** Returns the source of an archive that is named by its digest. */
export function anArchiveSource(sha256 = aDigest): ArchiveSource {
  return {
    bucket: "joypod",
    key: `archives/game/${sha256.slice(0, 8)}.tar.gz`,
    sha256,
    sizeBytes: 500,
    unpackedSizeBytes: 1000,
  };
}

/** Returns a GameCache, by default for all nodes. */
export function aGameCache({
  metadata = {},
  spec = {},
  status,
}: {
  metadata?: Partial<ObjectMeta>;
  spec?: Partial<GameCacheSpec>;
  status?: GameCacheStatus;
} = {}): Stored<GameCache> {
  const { name = "the-question", ...rest } = metadata;
  return {
    apiVersion,
    kind: "GameCache",
    metadata: {
      name,
      namespace: "joypod-sessions",
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: createdAt,
      ...rest,
    },
    spec: {
      source: anArchiveSource(),
      placement: { policy: "All" },
      priority: 0,
      pinned: false,
      keepVersions: 1,
      rollout: { maxParallelNodes: 2 },
      suspend: false,
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}
