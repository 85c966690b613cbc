import { isDeepStrictEqual } from "node:util";
import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Lease, Node, Pod } from "#kube/api/builtin.ts";
import { Controller, type ControllerOptions } from "#kube/controllers/controller.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { keyOf } from "#kube/api/object.ts";
import { fromCache, fromWideChanges, type WatchedCache } from "#kube/cache/source.ts";
import type { Change } from "#kube/cache/cache.ts";
import { changesEligibility, changesFill, changesPolicy } from "../../content/fillPlan.ts";
import type { Cluster } from "../../cluster/cluster.ts";
import type { OtherPod } from "../../cluster/watchedPods.ts";
import { nodeOfPod } from "../../sessionPods/podState.ts";
import { createNodeReconciler, type NodeDeps } from "./reconciler.ts";

/** The caches that trigger the node controller. */
export interface NodeCaches {
  nodes: WatchedCache<Node>;
  gameNodes: WatchedCache<GameNode>;
  gameCaches: WatchedCache<GameCache>;
  gameSessions: WatchedCache<GameSession>;
  pods: WatchedCache<Pod>;
  leases: WatchedCache<Lease>;
  /** Undefined if other pods are not counted. */
  otherPods?: WatchedCache<OtherPod>;
}

/**
 * Creates the controller that reconciles each changed node. A change of a cache, or of one node's content,
 * readiness or labels, requeues all nodes, because it may change the desired content of each.
 */
export function createNodeController(
  deps: NodeDeps,
  caches: NodeCaches,
  options: Pick<ControllerOptions, "logger" | "workers" | "metrics" | "clock" | "backOff">,
): Controller {
  const { cluster, clock } = deps;
  const allKeys = (): string[] => cluster.gameNodes.list().map(keyOf);
  return new Controller({
    name: "gamenode",
    ...options,
    sources: [
      fromCache(caches.nodes),
      fromWideChanges(caches.nodes, { when: changesEligibility, keys: allKeys, clock }),
      fromCache(caches.gameNodes),
      fromWideChanges(caches.gameNodes, { when: changesFill, keys: allKeys, clock }),
      fromWideChanges(caches.gameCaches, { when: changesPolicy, keys: allKeys, clock }),
      fromCache(caches.leases, {
        when: (change) => change.type !== "updated" || !isReady(cluster, change.object.metadata.name),
        keys: ({ metadata: { name } }) => [name],
      }),
      fromCache(caches.gameSessions, { keys: ({ status }) => toKeys(status?.nodeName) }),
      fromCache(caches.pods, { keys: (pod) => toKeys(nodeOfPod(pod)) }),
      ...(caches.otherPods
        ? [
            fromCache(caches.otherPods, {
              when: changesRequests,
              keys: ({ nodeName }) => gameNodeKeys(deps.cluster, nodeName),
            }),
          ]
        : []),
    ],
    reconcile: createNodeReconciler(deps),
  });
}

/**
 * A heartbeat matters only for a node that is not Ready. A missing heartbeat is noticed in the node's next
 * pass.
 */
function isReady({ gameNodes }: Pick<Cluster, "gameNodes">, nodeName: string): boolean {
  return isConditionTrue(gameNodes.get(nodeName)?.status?.conditions, "Ready");
}

function toKeys(nodeName: string | undefined): string[] {
  return nodeName === undefined ? [] : [nodeName];
}

/** Returns the node's key if it is a game node. Pods on other nodes change no GameNode. */
function gameNodeKeys({ gameNodes }: Pick<Cluster, "gameNodes">, nodeName: string | undefined): string[] {
  return nodeName !== undefined && gameNodes.get(nodeName) !== undefined ? [nodeName] : [];
}

/** Ignores the frequent status updates of pods. */
function changesRequests(change: Change<OtherPod>): boolean {
  return (
    change.type !== "updated" ||
    change.object.nodeName !== change.previous.nodeName ||
    !isDeepStrictEqual(change.object.requests, change.previous.requests) ||
    !isDeepStrictEqual(change.object.udpPorts, change.previous.udpPorts)
  );
}
