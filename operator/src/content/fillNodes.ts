import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { healthOf, type Heartbeats } from "../nodes/nodeHealth.ts";
import type { FillNode } from "./fill.ts";

/** Returns the game nodes with what decides which of them are filled. */
export function fillNodesOf(
  cluster: Pick<Cluster, "gameNodes" | "nodes">,
  heartbeats: Heartbeats,
): FillNode[] {
  return cluster.gameNodes.list().map((gameNode) => fillNodeOf(gameNode, cluster, heartbeats));
}

/** Returns one game node with what decides whether it is filled. */
export function fillNodeOf(
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
