import type { KubeConfig } from "@kubernetes/client-node";
import { KubeTransport } from "#kube/client/transport.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Environment as Variables } from "#runtime/program/readEnvironment.ts";
import { AdminError, exitCodes } from "../adminError.ts";
import { readKubeconfig, type KubeconfigPlaces } from "./kubeconfig.ts";
import { proxyOf } from "./proxyOf.ts";
import { messageOf } from "#runtime/errors.ts";

/** What kubectl's own options of the same names say, and the environment's KUBECONFIG and proxies. */
export interface ConnectionOptions {
  kubeconfig?: string | undefined;
  kubeconfigVariable?: string | undefined;
  /** Those that name proxies; none unless given. */
  proxyVariables?: Variables | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

/** A cluster that an admin works on. */
export interface Connection {
  transport: KubeTransport;
  server: string;
  /** The kubeconfig's own namespace; undefined when it names none. */
  contextNamespace: string | undefined;
  /**
   * The time by the API server's clock, as its last response told it: what the cluster has written is
   * compared with it, and an admin's machine may be minutes off.
   */
  now: () => Date;
}

/**
 * Opens the cluster of the kubeconfig, found as kubectl finds it: --kubeconfig, KUBECONFIG, or
 * ~/.kube/config. Throws AdminError when it names none.
 */
export function connect(
  { kubeconfig, kubeconfigVariable, proxyVariables = {}, context }: ConnectionOptions,
  clock: Clock,
): Connection {
  const config = readOrExplain({ file: kubeconfig, variable: kubeconfigVariable });
  if (context !== undefined) {
    if (config.getContextObject(context) === null)
      throw new AdminError(
        `The kubeconfig has no context ${context}: \`kubectl config get-contexts\` lists them.`,
        exitCodes.usage,
      );
    config.setCurrentContext(context);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new AdminError(
      "The kubeconfig has no current context: name one with --context, or set it with `kubectl config use-context NAME`.",
      exitCodes.usage,
    );
  const proxyUrl = proxyOf(cluster.server, proxyVariables);
  const transport = new KubeTransport(config, {
    userAgent: "kubectl-joypod",
    deadlineMs: 15_000,
    maxAttempts: 3,
    clock,
    proxyUrl,
  });
  return {
    transport,
    server: cluster.server,
    contextNamespace: config.getContextObject(config.getCurrentContext())?.namespace,
    now: () => new Date(clock.now().getTime() - (transport.clockOffsetMs ?? 0)),
  };
}

function readOrExplain(places: KubeconfigPlaces): KubeConfig {
  try {
    return readKubeconfig(places);
  } catch (cause) {
    throw new AdminError(
      `The kubeconfig cannot be read (${messageOf(cause)}): look at --kubeconfig and KUBECONFIG.`,
      exitCodes.usage,
      { cause },
    );
  }
}
