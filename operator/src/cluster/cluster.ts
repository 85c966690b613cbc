import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import type { Lease, Node, Pod } from "#kube/api/builtin.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { nodeOfPod } from "../sessionPods/podState.ts";
import type { OtherPod } from "./otherPods.ts";

/**
 * What the operator knows of the cluster, kept up to date by its watches and by the responses to its own
 * writes.
 */
export interface Cluster {
  gameSessions: ObjectCache<GameSession, "node" | "game" | "placement">;
  pods: ObjectCache<Pod, "node">;
  /** Pods of other namespaces; empty where they are not counted. */
  otherPods: ObjectCache<OtherPod>;
  nodes: ObjectCache<Node>;
  gameNodes: ObjectCache<GameNode>;
  /** The node agents' heartbeats, each under its node's name. */
  leases: ObjectCache<Lease>;
  gameCaches: ObjectCache<GameCache>;
}

/** Returns empty caches, with the indexes that the controllers use. */
export function createCluster(): Cluster {
  return {
    gameSessions: new ObjectCache({
      indexes: {
        node: ({ status }) => (status?.nodeName === undefined ? [] : [status.nodeName]),
        placement: (session) =>
          session.status?.nodeName === undefined && !isFinished(session) ? ["none"] : [],
        game: ({ spec }) => [spec.gameCacheRef.name],
      },
    }),
    pods: new ObjectCache({ indexes: { node: (pod) => [nodeOfPod(pod) ?? []].flat() } }),
    otherPods: new ObjectCache(),
    nodes: new ObjectCache(),
    gameNodes: new ObjectCache(),
    leases: new ObjectCache(),
    gameCaches: new ObjectCache(),
  };
}
