import {
  NodeLoads,
  noShare,
  sessionShare,
  type NodeShare,
  type PodResources,
} from "#contracts/crd/capacity.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { keyOf } from "#kube/api/object.ts";
import { isTerminal } from "#kube/api/builtin.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { podRequests } from "../cluster/podRequests.ts";
import { isSessionPod, nodeOfPod } from "../sessionPods/podState.ts";

type LoadSources = Pick<Cluster, "gameSessions" | "pods">;

/**
 * Returns the load of sessions on each node, kept up to date from the caches. Counts placed sessions that are
 * not finished and pods that have not ended.
 */
export function followNodeLoads(cluster: LoadSources, overhead: PodResources): NodeLoads {
  const loads = new NodeLoads();
  const update = (key: string): void => loads.set(key, sharesOf(cluster, key, overhead));
  for (const known of [...cluster.gameSessions.list(), ...cluster.pods.list()]) update(keyOf(known));
  cluster.gameSessions.subscribe(({ object }) => update(keyOf(object)));
  cluster.pods.subscribe(({ object }) => update(keyOf(object)));
  return loads;
}

/** Counts a pod's own requests on the pod's node, because admission may have raised them. */
function sharesOf(cluster: LoadSources, key: string, overhead: PodResources): Map<string, NodeShare> {
  const shares = new Map<string, NodeShare>();
  const session = cluster.gameSessions.get(key);
  const asked = session && sessionShare(session.spec, overhead);
  if (asked && !isFinished(session) && session.status?.nodeName !== undefined)
    shares.set(session.status.nodeName, asked);
  const pod = cluster.pods.get(key);
  const nodeName = pod && nodeOfPod(pod);
  if (!pod || nodeName === undefined || !isSessionPod(pod) || isTerminal(pod)) return shares;
  const requested = podRequests(pod);
  const placed = shares.get(nodeName) ?? noShare;
  shares.set(nodeName, {
    slots: asked?.slots ?? 1,
    cpuMillicores: Math.max(requested.cpuMillicores, placed.cpuMillicores),
    memoryBytes: Math.max(requested.memoryBytes, placed.memoryBytes),
  });
  return shares;
}
