import { type GameCache, gameCaches } from "#contracts/crd/gameCache.ts";
import { type GameNode, gameNodes } from "#contracts/crd/gameNode.ts";
import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import type { Maintenance } from "#contracts/maintenance.ts";
import { leases, pods, type Lease, type Pod, type Event } from "#kube/api/builtin.ts";
import { KubeError } from "#kube/api/errors.ts";
import type { KubeObject, Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { Installation } from "./installation.ts";
import { findMaintenance } from "./maintenance.ts";
import {
  componentLabel,
  daemonSets,
  deployments,
  instanceLabel,
  statefulSets,
  variableOf,
  type Workload,
} from "./workloads.ts";

/** What an installation looks like at one moment. */
export interface Observed {
  workloads: readonly Stored<Workload>[];
  /** The pods of the programs. */
  programPods: readonly Stored<Pod>[];
  sessionPods: readonly Stored<Pod>[];
  leases: readonly Stored<Lease>[];
  nodes: readonly Stored<GameNode>[];
  sessions: readonly Stored<GameSession>[];
  caches: readonly Stored<GameCache>[];
  stores: StoreState;
  maintenance: Maintenance | undefined;
}

/** Reads all of it at once. Throws KubeError when one part cannot be read. */
export async function observe(installation: Installation): Promise<Observed> {
  const { transport, release, namespace, sessionsNamespace, gameNodeSelector } = installation;
  const labelSelector = `app.kubernetes.io/name=joypod,${instanceLabel}=${release}`;
  const workloadsOf = async (type: typeof deployments) =>
    (await new ResourceClient(transport, type).listAll({ labelSelector })).items;
  const [workloads, allPods, sessionPods, heldLeases, nodes, sessions, caches, stores, maintenance] =
    await Promise.all([
      Promise.all([deployments, statefulSets, daemonSets].map(workloadsOf)),
      new ResourceClient(transport, pods).listAll({ labelSelector }),
      new ResourceClient(transport, pods).listAll({ namespace: sessionsNamespace }),
      new ResourceClient(transport, leases).listAll({ namespace }),
      new ResourceClient(transport, gameNodes).listAll({ labelSelector: gameNodeSelector }),
      new ResourceClient(transport, gameSessions).listAll({ namespace: sessionsNamespace }),
      new ResourceClient(transport, gameCaches).listAll({ namespace: sessionsNamespace }),
      askStores(installation),
      findMaintenance(installation),
    ]);
  const isOwn = ownsNamespace(namespace, workloads.flat());
  return {
    workloads: workloads.flat().filter(isOwn),
    programPods: allPods.items.filter((pod) => pod.metadata.namespace !== sessionsNamespace && isOwn(pod)),
    sessionPods: sessionPods.items,
    leases: heldLeases.items,
    nodes: nodes.items,
    sessions: sessions.items,
    caches: caches.items,
    stores,
    maintenance,
  };
}

/**
 * Another installation may have a release of the same name: its own programs are in the namespaces that its
 * operator knows.
 */
function ownsNamespace(
  namespace: string,
  workloads: readonly Stored<Workload>[],
): (object: Stored<KubeObject>) => boolean {
  const operator = workloads.find(
    ({ metadata }) => metadata.namespace === namespace && metadata.labels?.[componentLabel] === "operator",
  );
  const valueOf = (variable: string): string | undefined =>
    operator && variableOf(operator, "operator", variable);
  const [, relayNamespace] = (valueOf("RELAY_CONTROL") ?? "").split(".");
  const own = new Set([namespace, valueOf("NODE_AGENT_NAMESPACE"), relayNamespace]);
  return ({ metadata }) => operator === undefined || own.has(metadata.namespace);
}

/**
 * What the API says of its stores: Redis is not asked, as the API does without it. `unknown` when the API
 * could not be asked.
 */
type StoreState = { state: "ready" } | { state: "unready" | "unknown"; message: string };

const deadlineMs = 5_000;

/**
 * Asks the API's /readyz by way of the API server, which needs the right to `get services/proxy` and a
 * network that lets it through.
 */
async function askStores({
  transport,
  release,
  namespace,
}: Pick<Installation, "transport" | "release" | "namespace">): Promise<StoreState> {
  try {
    await transport.request({
      method: "GET",
      path: `/api/v1/namespaces/${namespace}/services/${release}-api:http/proxy/readyz`,
      deadlineMs,
    });
    return { state: "ready" };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const said = /^(?!The API server|no endpoints|error trying)/.test(error.message) && error.status === 503;
    return { state: said ? "unready" : "unknown", message: error.message };
  }
}

/** Which log, and how many of its last lines. */
export interface PodLogQuery {
  namespace: string;
  pod: string;
  container: string;
  tailLines: number;
  /** Of the container's life before this one. */
  previous?: boolean;
}

const idleDeadlineMs = 10_000;

/**
 * Returns the last lines of a container's log; none when it has no log (yet, or any more), or it may not be
 * read.
 */
export async function readPodLog(
  transport: KubeTransport,
  { namespace, pod, container, tailLines, previous }: PodLogQuery,
): Promise<string[]> {
  const lines: string[] = [];
  try {
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log`;
    for await (const line of transport.watch({
      path,
      query: { container, tailLines, previous },
      idleDeadlineMs,
      resource: "pods/log",
    }))
      lines.push(line);
  } catch (error) {
    // A log may end within a line; what came until then is what there is.
    if (!(error instanceof KubeError)) throw error;
  }
  return lines;
}

/** Returns when an event last happened: the kubelet's older form has no `eventTime`. */
export function timeOfEvent({ eventTime, deprecatedLastTimestamp, metadata }: Event): string | undefined {
  const times: readonly (string | null | undefined)[] = [
    eventTime,
    deprecatedLastTimestamp,
    metadata.creationTimestamp,
  ];
  return times.find((time) => typeof time === "string") ?? undefined;
}
