import { labels } from "#contracts/crd/names.ts";
import { nodes, pods } from "#kube/builtin.ts";
import type { Clock } from "#runtime/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { KubeMetrics } from "#kube/metrics.ts";
import type { KubeObject } from "#kube/object.ts";
import { Reflector } from "#kube/reflector.ts";
import type { Selection } from "#kube/callOptions.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import type { ResourceType } from "#kube/resourceType.ts";
import type { Store } from "#kube/store.ts";
import type { KubeTransport } from "#kube/transport.ts";
import type { Cluster } from "./cluster.ts";
import { gameCaches, gameNodes, gameSessions } from "./resources.ts";

/** What the watches are made of. */
export interface CachesDeps {
  transport: KubeTransport;
  cluster: Cluster;
  sessionsNamespace: string;
  clock: Clock;
  logger: Logger;
  metrics: KubeMetrics;
}

/** The watches that keep the stores like the cluster. */
export type Caches = ReturnType<typeof createCaches>;

/** One watch per kind; of pods only those of sessions. */
export function createCaches({ transport, cluster, sessionsNamespace, clock, logger, metrics }: CachesDeps) {
  const reflect = <T extends KubeObject, I extends string>(type: ResourceType<T>, store: Store<T, I>, selection: Selection) =>
    new Reflector({
      client: new ResourceClient(transport, type), store, ...selection, clock, logger, metrics: metrics.reflector(type.plural),
    });
  const inSessions = { namespace: sessionsNamespace };
  return {
    gameSessions: reflect(gameSessions, cluster.gameSessions, inSessions),
    gameCaches: reflect(gameCaches, cluster.gameCaches, inSessions),
    gameNodes: reflect(gameNodes, cluster.gameNodes, {}),
    nodes: reflect(nodes, cluster.nodes, {}),
    pods: reflect(pods, cluster.pods, { ...inSessions, labelSelector: labels.gameSession }),
  };
}
