import { type GameCache, cacheReadyReasons } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { fieldManagers, finalizers } from "#contracts/crd/names.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import { fromCache, fromWideChanges, type WatchedCache } from "#kube/cache/source.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import { Controller, type ControllerOptions, type Reconcile } from "#kube/controllers/controller.ts";
import type { EventSink } from "#kube/controllers/eventRecorder.ts";
import { createReconciler, writeStatus, type StepOutcome } from "#kube/controllers/reconciler.ts";
import { addFinalizer, hasFinalizer, isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { sourceOf } from "../../content/desired.ts";
import { changesContent, fillNodesOf } from "../../content/fillPlan.ts";
import type { Heartbeats } from "../../nodes/nodeHealth.ts";
import type { Throttle } from "../../throttle.ts";
import { differenceOf, statusOf } from "./status.ts";

/**
 * Creates the controller that reconciles each changed cache, and all caches when a node's content changes.
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

/** Dependencies of the cache controller. */
interface CacheDeps {
  cluster: Cluster;
  caches: ResourceClient<GameCache>;
  heartbeats: Heartbeats;
  events: EventSink;
  clock: Clock;
  /** Rate-limits writes that only update download progress. */
  progressThrottle: Throttle;
}

/** Minimum interval between writes that only update download progress. */
const progressWriteMs = 2_000;

/** Inputs of the steps of a pass. */
interface CachePass {
  key: string;
  cache: Stored<GameCache>;
  deps: CacheDeps;
  signal: AbortSignal;
}

/**
 * Returns a reconcile that aggregates the nodes' reports in a cache's status. The GameNode controller writes
 * the desired content of each node, so each node has one writer.
 */
function createCacheReconciler(deps: CacheDeps): Reconcile {
  return createReconciler({
    observe(key): Stored<GameCache> | undefined {
      const cache = deps.cluster.gameCaches.get(key);
      if (!cache) deps.progressThrottle.forget(key);
      return cache;
    },
    decide: (cache): { steps: readonly ("hold" | "reportStatus" | "release")[] } => ({
      steps: isDeleting(cache) ? ["release"] : ["hold", "reportStatus"],
    }),
    begin: (cache, _plan, { key, signal }): CachePass => ({ key, cache, deps, signal }),
    steps: { hold, reportStatus, release },
  });
}

/** Adds the operator's finalizer, so that the nodes are released before the cache is deleted. */
async function hold(pass: CachePass): Promise<StepOutcome> {
  const { cache, deps, signal } = pass;
  if (hasFinalizer(cache, finalizers.cache)) return "done";
  try {
    pass.cache = await addFinalizer(deps.caches, cache, finalizers.cache, { signal });
    deps.cluster.gameCaches.upsert(pass.cache);
    return "done";
  } catch (error) {
    if (isNotFound(error)) return "wait";
    throw error;
  }
}

/**
 * Removes the finalizer once no node is asked for the cache's versions. Running sessions keep their copy on
 * the node.
 */
async function release({ cache, deps: { caches, cluster }, signal }: CachePass): Promise<StepOutcome> {
  const isAskedFor = cluster.gameNodes
    .list()
    .some(({ spec }) =>
      spec.desired.some(({ digest, source }) => sourceOf(cache, digest)?.key === source.key),
    );
  if (!isAskedFor && hasFinalizer(cache, finalizers.cache))
    await removeFinalizer(caches, cache, finalizers.cache, { signal });
  return "wait";
}

async function reportStatus({ key, cache, deps, signal }: CachePass): Promise<StepOutcome> {
  const { cluster, caches, events, clock, heartbeats, progressThrottle } = deps;
  const status = statusOf(cache, fillNodesOf(cluster, heartbeats), clock.now());
  const difference = differenceOf(cache.status, status);
  if (difference === "none") return "wait";
  const waitMs = difference === "progress" ? progressThrottle.waitMs(key, progressWriteMs) : 0;
  if (waitMs > 0) return { requeueAfterMs: waitMs };
  const { name, namespace } = cache.metadata;
  const written = await writeStatus(
    caches,
    { metadata: { name, namespace }, status },
    { fieldManager: fieldManagers.operator, signal, cache: cluster.gameCaches },
  );
  if (!written) return "wait";
  progressThrottle.written(key);
  announce(cache, status, events);
  return "wait";
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
