import { isDeepStrictEqual } from "node:util";
import type { DesiredContent } from "#contracts/crd/gameNode.ts";
import type { Node } from "#kube/api/builtin.ts";
import type { Change } from "#kube/cache/cache.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { isNodeReady, type Heartbeats } from "../nodes/nodeHealth.ts";
import { changesFill, changesPolicy } from "./changesContent.ts";
import { desiredOn, wantedByPolicy } from "./desired.ts";
import { fillNodeOf, fillNodesOf } from "./fillNodes.ts";

export interface FillPlanDeps {
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

  /** Returns what the node shall hold, by the policies and for the sessions that wait there. */
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
