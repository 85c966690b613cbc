import type { KubeMetrics } from "#kube/controllers/metrics.ts";
import { KubeTransport } from "#kube/client/transport.ts";
import type { Logger } from "#runtime/logger.ts";
import { ClusterView } from "./clusterView.ts";
import { GameCacheWriter } from "./gameCacheWriter.ts";
import { GameSessionWriter } from "./gameSessionWriter.ts";

/** Those that speak to the Kubernetes API server. */
export interface ClusterConnection {
  /** The connection itself; most things go through the three below. */
  kube: KubeTransport;
  cluster: ClusterView;
  gameSessionWriter: GameSessionWriter;
  gameCacheWriter: GameCacheWriter;
}

/** Everything that speaks to the Kubernetes API server. Nothing is asked of it yet. */
export function connectCluster(
  {
    kubeconfig,
    sessionsNamespace,
    installation,
  }: { kubeconfig: string | undefined; sessionsNamespace: string; installation: string },
  logger: Logger,
  metrics: KubeMetrics,
): ClusterConnection {
  const options = { userAgent: "joypod-api", metrics: metrics.requests };
  const kube =
    kubeconfig === undefined
      ? KubeTransport.fromDefault(options)
      : KubeTransport.fromFile(kubeconfig, options);
  return {
    kube,
    cluster: new ClusterView({ transport: kube, sessionsNamespace, installation, logger, metrics }),
    gameSessionWriter: new GameSessionWriter(kube, sessionsNamespace),
    gameCacheWriter: new GameCacheWriter(kube, sessionsNamespace),
  };
}
