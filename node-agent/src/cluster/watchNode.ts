import { type GameNode, gameNodes } from "#contracts/crd/gameNode.ts";
import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { leases, pods, type Pod } from "#kube/api/builtin.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeMetrics } from "#kube/controllers/metrics.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";

/** Dependencies of watchNode. */
export interface WatchNodeOptions {
  node: string;
  namespace: string;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: KubeMetrics;
}

/** Clients for the kinds that the agent reads and writes. */
export type NodeClients = ReturnType<typeof createNodeClients>;

/** Returns clients for the kinds that the agent reads and writes. */
export function createNodeClients(transport: KubeTransport) {
  return {
    gameSessions: new ResourceClient(transport, gameSessions),
    gameCaches: new ResourceClient(transport, gameCaches),
    gameNodes: new ResourceClient(transport, gameNodes),
    pods: new ResourceClient(transport, pods),
    leases: new ResourceClient(transport, leases),
  };
}

/** The watches that cache the objects relevant to a node. */
export type NodeWatches = ReturnType<typeof watchNode>;

/** Returns the watches of one node's sessions, pods and GameNode, not yet started. */
export function watchNode(
  clients: NodeClients,
  { node, namespace, clock, random, logger, metrics }: WatchNodeOptions,
) {
  const shared = (resource: string) => ({ clock, random, logger, metrics: metrics.reflector(resource) });
  return {
    gameSessions: new Reflector<GameSession>({
      client: clients.gameSessions,
      cache: new ObjectCache<GameSession>(),
      namespace,
      fieldSelector: `status.nodeName=${node}`,
      ...shared("gamesessions"),
    }),
    pods: new Reflector<Pod>({
      client: clients.pods,
      cache: new ObjectCache<Pod>(),
      namespace,
      fieldSelector: `spec.nodeName=${node}`,
      ...shared("pods"),
    }),
    gameNode: new Reflector<GameNode>({
      client: clients.gameNodes,
      cache: new ObjectCache<GameNode>(),
      fieldSelector: `metadata.name=${node}`,
      ...shared("gamenodes"),
    }),
  };
}
