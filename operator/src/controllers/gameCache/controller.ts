import { isDeepStrictEqual } from "node:util";
import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { Controller, type ControllerOptions } from "#kube/controller.ts";
import { keyOf } from "#kube/object.ts";
import { fromCache, type Cache } from "#kube/source.ts";
import type { Change } from "#kube/store.ts";
import { createCacheReconciler, type CacheDeps } from "./reconciler.ts";

/** Runs one reconcile per changed cache, and for all caches when a node's content changes. */
export function createCacheController(
  deps: CacheDeps, caches: { gameCaches: Cache<GameCache>; gameNodes: Cache<GameNode> },
  options: Pick<ControllerOptions, "logger" | "workers" | "metrics" | "clock" | "backOff">,
): Controller {
  const allKeys = (): string[] => deps.cluster.gameCaches.list().map(keyOf);
  return new Controller({
    name: "gamecache",
    ...options,
    sources: [
      fromCache(caches.gameCaches),
      fromCache(caches.gameNodes, { when: changesContent, keys: allKeys }),
    ],
    reconcile: createCacheReconciler(deps),
  });
}

/** Whether what the node holds, shall hold, or its health has changed; a heartbeat alone does not count. */
export function changesContent(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return !isDeepStrictEqual(object.spec, previous.spec)
    || !isDeepStrictEqual(contentOf(object), contentOf(previous))
    || object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable;
}

/** Last use and use change with every session and matter to the node agent only. */
function contentOf({ status }: GameNode): unknown {
  return status?.cache?.entries.map(({ digest, state, progressPercent, cachedAt, reason }) => [digest, state, progressPercent, cachedAt, reason]);
}
