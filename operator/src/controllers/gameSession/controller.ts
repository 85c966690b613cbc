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

/** The caches that the session controller listens to. */
export interface SessionCaches {
  gameSessions: WatchedCache<GameSession>;
  pods: WatchedCache<Pod>;
  nodes: WatchedCache<Node>;
  gameNodes: WatchedCache<GameNode>;
}

/** Creates the controller that runs one reconcile per changed session; several sessions at a time. */
export function createSessionController(
  deps: SessionDeps,
  caches: SessionCaches,
  options: Pick<ControllerOptions, "logger" | "workers" | "metrics" | "clock" | "backOff">,
): Controller {
  return new Controller({
    name: "gamesession",
    ...options,
    sources: [...sessionSources(deps.cluster, caches, deps.clock), deps.streams, deps.networkProbe],
    reconcile: createSessionReconciler(deps),
  });
}

/**
 * Returns what tells of sessions that may need work, as far as the caches do. Sessions without a place
 * concern every change that may give them one.
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

/**
 * Returns the keys of the sessions that wait, or may have to wait, until it is known whether games get the
 * internet.
 */
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
 * Who waits for files hears of the end of a fill by its GameNode: the agent, which found them there, may say
 * nothing in the session.
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

/**
 * Ignores heartbeats and what the node holds, which change a GameNode all the time and concern few sessions.
 */
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
