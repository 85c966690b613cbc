import type { Cluster } from "../cluster/cluster.ts";
import { healthOf, type Heartbeats } from "../nodes/nodeHealth.ts";
import type { FillNode } from "./fill.ts";

/** Returns the game nodes with what decides which of them are filled. */
export function fillNodesOf({ gameNodes, nodes }: Cluster, heartbeats: Heartbeats): FillNode[] {
  return gameNodes.list().map(({ metadata: { name }, status }) => {
    const node = nodes.get(name);
    return {
      nodeName: name,
      labels: node?.metadata.labels ?? {},
      isHealthy: healthOf(node, heartbeats.isFresh(name)) === "Healthy",
      entries: status?.cache?.entries ?? [],
    };
  });
}
