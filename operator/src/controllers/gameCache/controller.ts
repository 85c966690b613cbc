import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { Controller, type ControllerOptions } from "#kube/controllers/controller.ts";
import { keyOf } from "#kube/api/object.ts";
import { fromCache, fromWideChanges, type WatchedCache } from "#kube/cache/source.ts";
import { changesContent } from "../../content/changesContent.ts";
import { createCacheReconciler, type CacheDeps } from "./reconciler.ts";

/**
 * Creates the controller that runs one reconcile per changed cache, and for all caches when a node's content
 * changes.
 */
export function createCacheController(
  deps: CacheDeps,
  caches: { gameCaches: WatchedCache<GameCache>; gameNodes: WatchedCache<GameNode> },
  options: Pick<ControllerOptions, "logger" | "workers" | "metrics" | "clock" | "backOff">,
): Controller {
  const allKeys = (): string[] => deps.cluster.gameCaches.list().map(keyOf);
  return new Controller({
    name: "gamecache",
    ...options,
    sources: [
      fromCache(caches.gameCaches),
      fromWideChanges(caches.gameNodes, { when: changesContent, keys: allKeys, clock: deps.clock }),
    ],
    reconcile: createCacheReconciler(deps),
  });
}
