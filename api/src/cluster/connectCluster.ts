import { KubeTransport } from "#kube/transport.ts";
import type { Config } from "../config.ts";
import type { Deps } from "../deps.ts";
import type { Logger } from "#runtime/logger.ts";
import { ClusterView } from "./clusterView.ts";
import { GameCacheWriter } from "./gameCacheWriter.ts";
import { GameSessionWriter } from "./gameSessionWriter.ts";

/** Everything that speaks to the Kubernetes API server. Nothing is asked of it yet. */
export function connectCluster(
  { cluster: { kubeconfig, sessionsNamespace } }: Config, logger: Logger,
): Pick<Deps, "kube" | "cluster" | "gameSessionWriter" | "gameCacheWriter"> {
  const options = { userAgent: "joypod-api" };
  const kube = kubeconfig === undefined ? KubeTransport.fromDefault(options) : KubeTransport.fromFile(kubeconfig, options);
  return {
    kube,
    cluster: new ClusterView({ transport: kube, sessionsNamespace, logger }),
    gameSessionWriter: new GameSessionWriter(kube, sessionsNamespace),
    gameCacheWriter: new GameCacheWriter(kube, sessionsNamespace),
  };
}
