import { isDeepStrictEqual } from "node:util";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { Node, Pod } from "#kube/api/builtin.ts";
import { Controller, type ControllerOptions } from "#kube/controllers/controller.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { keyOf } from "#kube/api/object.ts";
import { fromCache, fromWideChanges, type Source, type WatchedCache } from "#kube/cache/source.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isPrepared } from "#contracts/crd/sessionState.ts";
import type { Change } from "#kube/cache/cache.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import { changesFill } from "../../content/fillPlan.ts";
import { isNodeReady } from "../../nodes/nodeHealth.ts";
import { isSessionPod } from "../../sessionPods/podState.ts";
import { createSessionReconciler } from "./reconciler.ts";
import type { SessionDeps } from "./steps/step.ts";

/** The caches that trigger the session controller. */
export interface SessionCaches {
  gameSessions: WatchedCache<GameSession>;
  pods: WatchedCache<Pod>;
  nodes: WatchedCache<Node>;
  gameNodes: WatchedCache<GameNode>;
}

/** Creates the controller that reconciles each changed session. Sessions are reconciled concurrently. */
export function createSessionController(
  deps: SessionDeps,
  caches: SessionCaches,
  options: Pick<ControllerOptions, "logger" | "workers" | "metrics" | "clock" | "backOff">,
): Controller {
  return new Controller({
    name: "gamesession",
    ...options,
    sources: [
      ...sessionSources(deps.cluster, caches, deps.clock),
      deps.streams,
      deps.inputIdleness,
      deps.networkProbe,
    ],
    reconcile: createSessionReconciler(deps),
  });
}

/**
 * Returns the sources that enqueue sessions on cache changes. Every change that may make room enqueues the
 * sessions without a place.
 */
export function sessionSources(cluster: Cluster, caches: SessionCaches, clock: Clock): Source[] {
  const unplaced = { keys: () => unplacedKeys(cluster), clock };
  return [
    fromCache(caches.gameSessions),
    // A pod has its session's name and namespace, so its key is the session's.
    fromCache(caches.pods, { keys: (pod) => (isSessionPod(pod) ? [keyOf(pod)] : []) }),
    fromCache(caches.nodes, {
      when: changesReadiness,
      keys: ({ metadata }) => keysOn(cluster, metadata.name),
    }),
    fromCache(caches.gameNodes, {
      when: changesSchedulable,
      keys: ({ metadata }) => keysOn(cluster, metadata.name),
    }),
    fromCache(caches.gameNodes, {
      when: changesFill,
      keys: ({ metadata }) => unpreparedKeysOn(cluster, metadata.name),
    }),
    fromWideChanges(caches.gameSessions, { when: freesSlot, ...unplaced }),
    fromWideChanges(caches.pods, { when: ({ type }) => type === "deleted", ...unplaced }),
    fromWideChanges(caches.nodes, { when: changesReadiness, ...unplaced }),
    fromWideChanges(caches.gameNodes, { when: changesSchedulable, ...unplaced }),
  ];
}

/** Returns the keys of the sessions that need to know whether games get internet access. */
export function keysThatNeedInternet({ gameSessions }: Cluster): string[] {
  return gameSessions
    .list()
    .filter((session) => session.spec.network === "Internet" && !isFinished(session))
    .map(keyOf);
}

function unplacedKeys({ gameSessions }: Cluster): string[] {
  return gameSessions.byIndex("placement", "none").map(keyOf);
}

function keysOn({ gameSessions }: Cluster, nodeName: string): string[] {
  return gameSessions.byIndex("node", nodeName).map(keyOf);
}

/**
 * Sessions that wait for files are woken by the GameNode when a fill ends. If the agent finds the files
 * already there, it may write nothing to the session.
 */
function unpreparedKeysOn({ gameSessions }: Cluster, nodeName: string): string[] {
  return gameSessions
    .byIndex("node", nodeName)
    .filter((session) => !isPrepared(session) && !isFinished(session))
    .map(keyOf);
}

function freesSlot(change: Change<GameSession>): boolean {
  if (change.type === "deleted") return true;
  return change.type === "updated" && isFinished(change.object) && !isFinished(change.previous);
}

function changesReadiness(change: Change<Node>): boolean {
  return (
    change.type !== "updated" ||
    isNodeReady(change.object) !== isNodeReady(change.previous) ||
    change.object.spec?.unschedulable !== change.previous.spec?.unschedulable ||
    !isDeepStrictEqual(change.object.spec?.taints, change.previous.spec?.taints)
  );
}

/** Ignores heartbeats and content, which change a GameNode often and concern few sessions. */
function changesSchedulable(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return (
    object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable ||
    object.status?.capacity?.slots !== previous.status?.capacity?.slots ||
    isConditionTrue(object.status?.conditions, "Ready") !==
      isConditionTrue(previous.status?.conditions, "Ready")
  );
}
