import type { Cluster } from "../cluster/cluster.ts";
import { healthOf, type Heartbeats } from "../nodes/nodeHealth.ts";
import type { FillNode } from "./fill.ts";

/** The game nodes as the filling of caches sees them. */
export function fillNodesOf({ gameNodes, nodes }: Cluster, heartbeats: Heartbeats): FillNode[] {
  return gameNodes.list().map(({ metadata: { name }, status }) => {
    const node = nodes.get(name);
    return {
      nodeName: name,
      labels: node?.metadata.labels ?? {},
      isWell: healthOf(node, heartbeats.isFresh(name)) === "Well",
      entries: status?.cache?.entries ?? [],
    };
  });
}
