import { gameNodeSelectorOf, heartbeatSelectorOf } from "#contracts/crd/installation.ts";
import { isForbidden } from "#kube/api/errors.ts";
import type { Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { AdminError, exitCodes } from "../adminError.ts";
import type { Connection } from "./connect.ts";
import { componentLabel, deployments, instanceLabel, variableOf, type Workload } from "./workloads.ts";

/** One release of Joypod in a cluster. */
export interface Installation {
  transport: KubeTransport;
  server: string;
  /** The time by the API server's clock. */
  now: () => Date;
  /** Name of the Helm release. */
  release: string;
  version: string;
  namespace: string;
  sessionsNamespace: string;
  /** Label selector of its GameNodes. */
  gameNodeSelector: string;
  /** Label selector of its node agents' Leases. */
  heartbeatSelector: string;
}

const apiSelector = `app.kubernetes.io/name=joypod,${componentLabel}=api`;

/**
 * Finds the installation by its API Deployment, in `namespace` or in the whole cluster.
 *
 * @throws AdminError When no installation, or more than one, is found.
 */
export async function findInstallation(
  { transport, server, contextNamespace, now }: Connection,
  namespace?: string,
): Promise<Installation> {
  const found = await apis(transport, namespace, contextNamespace);
  const own = found.filter(({ metadata }) => metadata.namespace === contextNamespace);
  const candidates = namespace === undefined && found.length > 1 && own.length > 0 ? own : found;
  const [api, ...others] = candidates;
  if (api === undefined) {
    const where = namespace === undefined ? "in this cluster" : `in the namespace ${namespace}`;
    throw new AdminError(
      `Joypod was not found ${where}. Specify its namespace with --namespace, or another cluster with --context.`,
      exitCodes.notFound,
    );
  }
  if (others.length > 0) {
    const names = candidates
      .map(
        ({ metadata }) => `${metadata.namespace ?? ""}/${metadata.labels?.[instanceLabel] ?? metadata.name}`,
      )
      .join(", ");
    throw new AdminError(
      `The cluster has several Joypod releases (${names}). Specify the namespace of one with --namespace.`,
      exitCodes.usage,
    );
  }
  const valueOf = (variable: string): string | undefined => variableOf(api, "api", variable);
  const installation = valueOf("INSTALLATION") ?? "";
  const { labels = {}, namespace: releaseNamespace = "joypod" } = api.metadata;
  return {
    transport,
    server,
    now,
    namespace: releaseNamespace,
    sessionsNamespace: valueOf("SESSIONS_NAMESPACE") ?? "joypod-sessions",
    gameNodeSelector: gameNodeSelectorOf({ name: installation }),
    heartbeatSelector: heartbeatSelectorOf({ name: installation }),
    release: labels[instanceLabel] ?? "joypod",
    version: labels["app.kubernetes.io/version"] ?? "unknown",
  };
}

async function apis(
  transport: KubeTransport,
  namespace: string | undefined,
  fallback: string | undefined,
): Promise<Stored<Workload>[]> {
  const client = new ResourceClient(transport, deployments);
  try {
    return (await client.listAll({ namespace, labelSelector: apiSelector })).items;
  } catch (error) {
    // Users with access to a single namespace usually have it in their kubeconfig.
    if (namespace !== undefined || fallback === undefined || !isForbidden(error)) throw error;
    return (await client.listAll({ namespace: fallback, labelSelector: apiSelector })).items;
  }
}
