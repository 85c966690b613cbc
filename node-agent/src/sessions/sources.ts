import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { isTerminal, type Pod } from "#kube/api/builtin.ts";
import type { CacheReader } from "#kube/cache/cache.ts";
import type { Source } from "#kube/cache/source.ts";
import type { ContentCache } from "../cache/contentCache.ts";

/**
 * Returns a source of the sessions whose folders a previous process left, whether or not the cluster still
 * has them.
 */
export function fromDisk(namespace: string, leftGameSessions: () => readonly string[]): Source {
  return {
    waitForSync: () => Promise.resolve(),
    subscribe: () => () => undefined,
    keys: () => leftGameSessions().map((gameSession) => `${namespace}/${gameSession}`),
  };
}

/** Returns a source of the sessions that wait for a version that became ready or failed. */
export function fromContent(cache: ContentCache, gameSessions: CacheReader<GameSession>): Source {
  return {
    waitForSync: () => Promise.resolve(),
    subscribe: (enqueue) =>
      cache.subscribe((digest, isProgress) => {
        if (isProgress) return;
        for (const { metadata, spec } of gameSessions.list())
          if (spec.contentDigest === digest) enqueue(`${metadata.namespace ?? ""}/${metadata.name}`);
      }),
    keys: () => [],
  };
}

/**
 * Returns a source that enqueues nothing. It delays all sessions until the watch has synced, because a launch
 * must not evict versions that the GameNode pins.
 */
export function onceSynced(watch: Pick<Source, "waitForSync">): Source {
  return {
    waitForSync: (signal) => watch.waitForSync(signal),
    subscribe: () => () => undefined,
    keys: () => [],
  };
}

/**
 * Returns the digests that must not be evicted: those of this node's unfinished sessions, and those mounted
 * by its pods.
 */
export function contentInUse(
  gameSessions: CacheReader<GameSession>,
  pods: CacheReader<Pod>,
  objectsPath: string,
): Set<string> {
  const digests = new Set<string>();
  for (const session of gameSessions.list())
    if (!isFinished(session)) digests.add(session.spec.contentDigest);
  for (const pod of pods.list()) {
    if (isTerminal(pod)) continue;
    for (const { hostPath } of pod.spec?.volumes ?? []) {
      if (hostPath?.path.startsWith(`${objectsPath}/`) !== true) continue;
      digests.add(hostPath.path.slice(objectsPath.length + 1).split("/")[0] ?? "");
    }
  }
  return digests;
}
