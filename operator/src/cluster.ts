import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Node, Pod } from "#kube/builtin.ts";
import { Store } from "#kube/store.ts";
import { nodeOfPod } from "./controllers/gameSession/podState.ts";

/** What the operator knows of the cluster, kept up to date by its watches and by the answers to its own writes. */
export interface Cluster {
  gameSessions: Store<GameSession, "node" | "game">;
  pods: Store<Pod, "node">;
  nodes: Store<Node>;
  gameNodes: Store<GameNode>;
  gameCaches: Store<GameCache>;
}

/** Empty stores with the indexes that the controllers look things up by. */
export function createCluster(): Cluster {
  return {
    gameSessions: new Store({
      indexes: {
        node: ({ status }) => (status?.nodeName === undefined ? [] : [status.nodeName]),
        game: ({ spec }) => [spec.gameCacheRef.name],
      },
    }),
    pods: new Store({ indexes: { node: (pod) => [nodeOfPod(pod) ?? []].flat() } }),
    nodes: new Store(),
    gameNodes: new Store(),
    gameCaches: new Store(),
  };
}
