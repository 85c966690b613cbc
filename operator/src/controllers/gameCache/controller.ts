import { type GameCache, cacheReadyReasons } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { fieldManagers, finalizers } from "#contracts/crd/names.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import { fromCache, fromWideChanges, type WatchedCache } from "#kube/cache/source.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import {
  Controller,
  type ControllerOptions,
  type ReconcileContext,
  type ReconcileResult,
} from "#kube/controllers/controller.ts";
import type { EventSink } from "#kube/controllers/eventRecorder.ts";
import { addFinalizer, hasFinalizer, isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { sourceOf } from "../../content/desired.ts";
import { changesContent, fillNodesOf } from "../../content/fillPlan.ts";
import type { Heartbeats } from "../../nodes/nodeHealth.ts";
import type { Throttle } from "../../throttle.ts";
import { differenceOf, statusOf } from "./status.ts";

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

/** What the cache controller works with. */
interface CacheDeps {
  cluster: Cluster;
  caches: ResourceClient<GameCache>;
  heartbeats: Heartbeats;
  events: EventSink;
  clock: Clock;
  /** Spaces writes that only say how far downloads are. */
  progressThrottle: Throttle;
}

/** How far apart writes are that only say how far downloads are. */
const progressWriteMs = 2_000;

/**
 * Returns a reconcile that keeps a cache's status like its nodes' reports. What nodes shall hold is written
 * by the GameNode controller: one writer per node.
 */
function createCacheReconciler(deps: CacheDeps) {
  return async (key: string, { signal }: ReconcileContext): Promise<ReconcileResult | undefined> => {
    const cache = deps.cluster.gameCaches.get(key);
    if (!cache) {
      deps.progressThrottle.forget(key);
      return undefined;
    }
    if (isDeleting(cache)) return releaseCache(cache, deps, signal);
    const held = await holdCache(cache, deps, signal);
    return held && reportStatus(key, held, deps, signal);
  };
}

async function holdCache(
  cache: Stored<GameCache>,
  { caches, cluster }: CacheDeps,
  signal: AbortSignal,
): Promise<Stored<GameCache> | undefined> {
  if (hasFinalizer(cache, finalizers.cache)) return cache;
  try {
    const held = await addFinalizer(caches, cache, finalizers.cache, { signal });
    cluster.gameCaches.upsert(held);
    return held;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * Removes the finalizer once no node is asked for the cache's versions any more; sessions that play keep
 * their copy on the node.
 */
async function releaseCache(
  cache: Stored<GameCache>,
  { caches, cluster }: CacheDeps,
  signal: AbortSignal,
): Promise<undefined> {
  const isAskedFor = cluster.gameNodes
    .list()
    .some(({ spec }) =>
      spec.desired.some(({ digest, source }) => sourceOf(cache, digest)?.key === source.key),
    );
  if (!isAskedFor && hasFinalizer(cache, finalizers.cache))
    await removeFinalizer(caches, cache, finalizers.cache, { signal });
  return undefined;
}

async function reportStatus(
  key: string,
  cache: Stored<GameCache>,
  deps: CacheDeps,
  signal: AbortSignal,
): Promise<ReconcileResult | undefined> {
  const { cluster, caches, events, clock, heartbeats, progressThrottle } = deps;
  const status = statusOf(cache, fillNodesOf(cluster, heartbeats), clock.now());
  const difference = differenceOf(cache.status, status);
  if (difference === "none") return undefined;
  const waitMs = difference === "progress" ? progressThrottle.waitMs(key, progressWriteMs) : 0;
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  const { name, namespace } = cache.metadata;
  try {
    cluster.gameCaches.upsert(
      await caches.applyStatus(
        { metadata: { name, namespace }, status },
        { fieldManager: fieldManagers.operator, signal },
      ),
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return undefined;
  }
  progressThrottle.written(key);
  announce(cache, status, events);
  return undefined;
}

function announce(
  cache: Stored<GameCache>,
  { conditions, currentDigest = "" }: NonNullable<GameCache["status"]>,
  events: EventSink,
): void {
  const wasReady = isConditionTrue(cache.status?.conditions, "Ready");
  const ready = conditions?.find(({ type }) => type === "Ready");
  if (ready === undefined || (ready.status === "True") === wasReady) return;
  const note = `${ready.message} Version ${currentDigest.slice(0, 12)}.`;
  events.record(cache, {
    type: ready.reason === cacheReadyReasons.nodesFailed ? "Warning" : "Normal",
    reason: ready.reason,
    action: "Fill",
    note,
  });
}
