import { isDeepStrictEqual } from "node:util";
import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { DesiredContent, GameNode } from "#contracts/crd/gameNode.ts";
import type { Node } from "#kube/api/builtin.ts";
import type { Change } from "#kube/cache/cache.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { healthOf, type Heartbeats, isNodeReady } from "../nodes/nodeHealth.ts";
import { desiredOn, wantedByPolicy } from "./desired.ts";
import type { FillNode } from "./fill.ts";

interface FillPlanDeps {
  cluster: Cluster;
  heartbeats: Heartbeats;
  clock: Clock;
}

interface Plan {
  wanted: ReadonlyMap<string, DesiredContent[]>;
  /**
   * Monotonic time at which the first of the agents that report in time counts as silent unless it reports.
   */
  endsAtMs: number;
  /** Nodes whose agent was silent. */
  silent: readonly string[];
}

/**
 * The content that the policies request on all nodes. Recomputed only when one of its inputs has changed, not
 * for each node or pod.
 */
export class FillPlan {
  readonly #deps: FillPlanDeps;
  #plan: Plan | undefined;

  constructor(deps: FillPlanDeps) {
    this.#deps = deps;
    const { gameNodes, gameCaches, nodes } = deps.cluster;
    const forgetIf = (isStale: boolean): void => {
      if (isStale) this.#plan = undefined;
    };
    gameNodes.subscribe((change) => forgetIf(changesFill(change)));
    gameCaches.subscribe((change) => forgetIf(changesPolicy(change)));
    nodes.subscribe((change) => forgetIf(changesEligibility(change)));
  }

  /** Returns the desired content of the node, from the policies and from the sessions waiting there. */
  desiredOn(nodeName: string): DesiredContent[] {
    const { cluster, heartbeats } = this.#deps;
    const gameNode = cluster.gameNodes.get(nodeName);
    const node = gameNode && fillNodeOf(gameNode, cluster, heartbeats);
    return desiredOn(
      node,
      this.wantedOn(nodeName),
      cluster.gameCaches.list(),
      cluster.gameSessions.byIndex("node", nodeName),
    );
  }

  /** Returns the content that the policies request on the node. */
  wantedOn(nodeName: string): readonly DesiredContent[] {
    return this.#current().wanted.get(nodeName) ?? [];
  }

  /**
   * Returns the current versions of pinned games that the policies request on the node, including those that
   * wait for their turn. Suspended fills are excluded.
   */
  pinnedOn(nodeName: string): readonly DesiredContent[] {
    const caches = this.#deps.cluster.gameCaches.list().filter(({ spec }) => spec.pinned && !spec.suspend);
    const current = new Set(caches.map(({ spec }) => spec.source.sha256));
    const pinned = this.wantedOn(nodeName).filter((content) => content.pinned && current.has(content.digest));
    return [...new Map(pinned.map((content) => [content.digest, content])).values()];
  }

  #current(): Plan {
    const { cluster, heartbeats, clock } = this.#deps;
    const known = this.#plan;
    if (
      known &&
      clock.monotonicMs() < known.endsAtMs &&
      !known.silent.some((name) => heartbeats.isFresh(name))
    )
      return known;
    const names = cluster.gameNodes.list().map(({ metadata }) => metadata.name);
    const fresh = names.filter((name) => heartbeats.isFresh(name));
    return (this.#plan = {
      wanted: wantedByPolicy(fillNodesOf(cluster, heartbeats), cluster.gameCaches.list()),
      endsAtMs:
        clock.monotonicMs() +
        fresh.reduce((least, name) => Math.min(least, heartbeats.staleInMs(name)), Number.POSITIVE_INFINITY),
      silent: names.filter((name) => !heartbeats.isFresh(name)),
    });
  }
}

/**
 * Returns whether the change may add the node to the candidates of fills or remove it from them, which may
 * then select another node.
 */
export function changesEligibility(change: Change<Node>): boolean {
  return (
    change.type !== "updated" ||
    isNodeReady(change.object) !== isNodeReady(change.previous) ||
    !isDeepStrictEqual(change.object.metadata.labels, change.previous.metadata.labels)
  );
}

/** Returns the game nodes with the inputs to the fill decision. */
export function fillNodesOf(
  cluster: Pick<Cluster, "gameNodes" | "nodes">,
  heartbeats: Heartbeats,
): FillNode[] {
  return cluster.gameNodes.list().map((gameNode) => fillNodeOf(gameNode, cluster, heartbeats));
}

/** Returns one game node with the inputs to the fill decision. */
function fillNodeOf(
  { metadata: { name }, status }: GameNode,
  { nodes }: Pick<Cluster, "nodes">,
  heartbeats: Heartbeats,
): FillNode {
  const node = nodes.get(name);
  return {
    nodeName: name,
    labels: node?.metadata.labels ?? {},
    // A new GameNode does not report capacity yet, and the GameNode of a node that has just fallen silent
    // still has its old values.
    isSchedulable:
      status?.capacity?.schedulable !== false && healthOf(node, heartbeats.isFresh(name)) === "Healthy",
    entries: status?.cache?.entries ?? noEntries,
  };
}

const noEntries: FillNode["entries"] = [];

/**
 * Returns whether the node's content, desired content or health has changed. A heartbeat alone does not
 * count.
 */
export function changesContent(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return (
    !isDeepStrictEqual(object.spec, previous.spec) ||
    !isDeepStrictEqual(contentOf(object), contentOf(previous)) ||
    object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable
  );
}

/** Leaves out `lastUsedAt` and `inUse`, which change with every session and matter to the node agent only. */
function contentOf({ status }: GameNode): unknown {
  return status?.cache?.entries.map(({ digest, state, progressPercent, cachedAt, reason }) => [
    digest,
    state,
    progressPercent,
    cachedAt,
    reason,
  ]);
}

/** Returns whether the change may pass the turn to fetch to another node. Download progress never does. */
export function changesFill(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return (
    object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable ||
    !isDeepStrictEqual(statesOf(object), statesOf(previous))
  );
}

/**
 * Returns whether the cache's request has changed. Its status is derived from the nodes and does not affect
 * them.
 */
export function changesPolicy(change: Change<GameCache>): boolean {
  return (
    change.type !== "updated" ||
    change.object.metadata.generation !== change.previous.metadata.generation ||
    change.object.metadata.deletionTimestamp !== change.previous.metadata.deletionTimestamp
  );
}

function statesOf({ status }: GameNode): unknown {
  return status?.cache?.entries.map(({ digest, state }) => [digest, state]);
}
