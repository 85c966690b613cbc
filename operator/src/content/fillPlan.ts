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
   * When the first of the agents that were heard in time counts as silent unless it reports, by the monotonic
   * clock.
   */
  endsAtMs: number;
  /** Nodes whose agent was silent. */
  silent: readonly string[];
}

/**
 * What the policies ask of all nodes. It is computed anew when something has changed that it depends on, and
 * not for each node or pod.
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

  /** Returns the desired content of the node: that of the policies and of the sessions waiting there. */
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

  /** Returns what the policies alone ask of the node. */
  wantedOn(nodeName: string): readonly DesiredContent[] {
    return this.#current().wanted.get(nodeName) ?? [];
  }

  /**
   * Returns the current versions of pinned games that the policies ask of the node, whenever its turn to
   * fetch them comes; those of suspended fills never come.
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
 * Returns whether the change may put the node among those that fills choose from, or take it from them; and
 * so another in its place.
 */
export function changesEligibility(change: Change<Node>): boolean {
  return (
    change.type !== "updated" ||
    isNodeReady(change.object) !== isNodeReady(change.previous) ||
    !isDeepStrictEqual(change.object.metadata.labels, change.previous.metadata.labels)
  );
}

/** Returns the game nodes with what decides which of them are filled. */
export function fillNodesOf(
  cluster: Pick<Cluster, "gameNodes" | "nodes">,
  heartbeats: Heartbeats,
): FillNode[] {
  return cluster.gameNodes.list().map((gameNode) => fillNodeOf(gameNode, cluster, heartbeats));
}

/** Returns one game node with what decides whether it is filled. */
function fillNodeOf(
  { metadata: { name }, status }: GameNode,
  { nodes }: Pick<Cluster, "nodes">,
  heartbeats: Heartbeats,
): FillNode {
  const node = nodes.get(name);
  return {
    nodeName: name,
    labels: node?.metadata.labels ?? {},
    // A new GameNode says nothing of its capacity yet, and one whose node has just fallen silent still says
    // what held before.
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

/**
 * Returns whether the change may give another node its turn to fetch. The progress of a download gives no
 * node its turn.
 */
export function changesFill(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return (
    object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable ||
    !isDeepStrictEqual(statesOf(object), statesOf(previous))
  );
}

/**
 * Returns whether what the cache asks for has changed: its status follows from the nodes, and changes nothing
 * about them.
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
