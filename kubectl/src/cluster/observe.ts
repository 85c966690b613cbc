import { z } from "zod";
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

/** The state of an installation at one moment. */
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
  /** Undefined if the API could not be asked. */
  queue: QueueState | undefined;
  maintenance: Maintenance | undefined;
}

/** Reads the whole state concurrently. Throws KubeError if a part cannot be read. */
export async function observe(installation: Installation): Promise<Observed> {
  const { transport, release, namespace, sessionsNamespace, gameNodeSelector } = installation;
  const labelSelector = `app.kubernetes.io/name=joypod,${instanceLabel}=${release}`;
  const workloadsOf = async (type: typeof deployments) =>
    (await new ResourceClient(transport, type).listAll({ labelSelector })).items;
  const [workloads, allPods, sessionPods, heldLeases, nodes, sessions, caches, stores, queue, maintenance] =
    await Promise.all([
      Promise.all([deployments, statefulSets, daemonSets].map(workloadsOf)),
      new ResourceClient(transport, pods).listAll({ labelSelector }),
      new ResourceClient(transport, pods).listAll({ namespace: sessionsNamespace }),
      new ResourceClient(transport, leases).listAll({ namespace }),
      new ResourceClient(transport, gameNodes).listAll({ labelSelector: gameNodeSelector }),
      new ResourceClient(transport, gameSessions).listAll({ namespace: sessionsNamespace }),
      new ResourceClient(transport, gameCaches).listAll({ namespace: sessionsNamespace }),
      askStores(installation),
      askQueue(installation),
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
    queue,
    maintenance,
  };
}

/**
 * Another installation may have a release of the same name. The operator knows the namespaces of its own
 * installation.
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
 * The state of the API's stores. Redis is not checked, because the API works without it. `unknown` if the API
 * could not be reached.
 */
type StoreState = { state: "ready" } | { state: "unready" | "unknown"; message: string };

const deadlineMs = 5_000;

/**
 * Requests the API's /readyz through the API server. This requires the permission `get services/proxy` and
 * network access from the API server.
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

const QueueState = z.object({ length: z.number(), oldestWaitSeconds: z.number() });
/** The launches that wait for a seat. */
type QueueState = z.infer<typeof QueueState>;

/** Asks the API for its queue, in the same way and under the same conditions. */
async function askQueue({
  transport,
  release,
  namespace,
}: Pick<Installation, "transport" | "release" | "namespace">): Promise<QueueState | undefined> {
  try {
    const response = await transport.request({
      method: "GET",
      path: `/api/v1/namespaces/${namespace}/services/${release}-api:http/proxy/readyz`,
      query: { exclude: "objectStore", include: "queue" },
      deadlineMs,
    });
    return z.object({ queue: QueueState }).safeParse(response).data?.queue;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return undefined;
  }
}

/** Selects a log and the number of its last lines. */
export interface PodLogQuery {
  namespace: string;
  pod: string;
  container: string;
  tailLines: number;
  /** Selects the log of the previous container. */
  previous?: boolean;
}

const idleDeadlineMs = 10_000;

/** Returns the last lines of a container's log; empty if there is no log or it may not be read. */
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
    // A log may end within a line. Keep the lines up to then.
    if (!(error instanceof KubeError)) throw error;
  }
  return lines;
}

/**
 * Returns the time of an event's last occurrence. The kubelet still writes an older format without
 * `eventTime`.
 */
export function timeOfEvent({ eventTime, deprecatedLastTimestamp, metadata }: Event): string | undefined {
  const times: readonly (string | null | undefined)[] = [
    eventTime,
    deprecatedLastTimestamp,
    metadata.creationTimestamp,
  ];
  return times.find((time) => typeof time === "string") ?? undefined;
}
