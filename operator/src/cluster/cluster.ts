import { type GameCache, gameCaches } from "#contracts/crd/gameCache.ts";
import { type GameNode, gameNodes } from "#contracts/crd/gameNode.ts";
import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import { gameNodeSelectorOf, heartbeatSelectorOf, type Installation } from "#contracts/crd/installation.ts";
import { labels } from "#contracts/crd/names.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { type Lease, leases, type Node, nodes, type Pod } from "#kube/api/builtin.ts";
import type { KubeObject } from "#kube/api/object.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { Reflector, type ReflectorOptions } from "#kube/cache/reflector.ts";
import type { Selection } from "#kube/client/request.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { KubeMetrics } from "#kube/controllers/metrics.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { nodeOfPod } from "../sessionPods/podState.ts";
import { type OtherPod, otherPods, otherPodsSelector, sessionPods } from "./watchedPods.ts";

/** The operator's view of the cluster, kept up to date by its watches and by the responses to its writes. */
export interface Cluster {
  gameSessions: ObjectCache<GameSession, "node" | "game" | "placement">;
  pods: ObjectCache<Pod, "node">;
  /** Pods of other namespaces. Empty if they are not counted. */
  otherPods: ObjectCache<OtherPod>;
  nodes: ObjectCache<Node>;
  gameNodes: ObjectCache<GameNode>;
  /** The node agents' heartbeats, keyed by node name. */
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

/** Dependencies of the reflectors. */
interface ReflectorsDeps {
  transport: KubeTransport;
  cluster: Cluster;
  sessionsNamespace: string;
  nodeAgentNamespace: string;
  /** The installation whose GameNodes are watched. */
  installation: Installation;
  /** Whether the requests of other pods are counted, which requires permission to list all pods. */
  countsOtherPods: boolean;
  clock: Clock;
  logger: Logger;
  metrics: KubeMetrics;
}

type WatchTimes = Pick<ReflectorOptions<KubeObject, never>, "watchSeconds" | "idleDeadlineMs">;

/**
 * Shorter than for other watches. An agent's silence counts only up to the time the watch was last heard, so
 * on a cluster of few nodes a silent watch delays detection by that much. A dead watch is replaced before any
 * agent would count as silent.
 */
const heartbeatWatches: WatchTimes = { watchSeconds: { min: 5, max: 8 }, idleDeadlineMs: 11_000 };

/** The reflectors that keep the operator's caches up to date. */
export type Reflectors = ReturnType<typeof createReflectors>;

/**
 * Creates one reflector per kind, not yet started. Session pods are watched in detail; for other pods only
 * the requests are kept.
 */
export function createReflectors({
  transport,
  cluster,
  sessionsNamespace,
  nodeAgentNamespace,
  installation,
  countsOtherPods,
  clock,
  logger,
  metrics,
}: ReflectorsDeps) {
  const reflect = <T extends KubeObject, I extends string>(
    type: ResourceType<T>,
    cache: ObjectCache<T, I>,
    selection: Selection,
    watches: WatchTimes = {},
  ) =>
    new Reflector({
      client: new ResourceClient(transport, type),
      cache,
      ...selection,
      ...watches,
      clock,
      logger,
      metrics: metrics.reflector(type.plural),
    });
  const inSessions = { namespace: sessionsNamespace };
  return {
    gameSessions: reflect(gameSessions, cluster.gameSessions, inSessions),
    gameCaches: reflect(gameCaches, cluster.gameCaches, inSessions),
    gameNodes: reflect(gameNodes, cluster.gameNodes, { labelSelector: gameNodeSelectorOf(installation) }),
    leases: reflect(
      leases,
      cluster.leases,
      { namespace: nodeAgentNamespace, labelSelector: heartbeatSelectorOf(installation) },
      heartbeatWatches,
    ),
    nodes: reflect(nodes, cluster.nodes, {}),
    pods: reflect(sessionPods, cluster.pods, { ...inSessions, labelSelector: labels.gameSession }),
    ...(countsOtherPods
      ? {
          otherPods: reflect(otherPods, cluster.otherPods, {
            fieldSelector: otherPodsSelector(sessionsNamespace),
          }),
        }
      : {}),
  };
}
