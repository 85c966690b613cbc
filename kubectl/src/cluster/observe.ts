import { type GameCache, gameCaches } from "#contracts/crd/gameCache.ts";
import { type GameNode, gameNodes } from "#contracts/crd/gameNode.ts";
import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import type { Maintenance } from "#contracts/maintenance.ts";
import { leases, pods, type Lease, type Pod } from "#kube/api/builtin.ts";
import type { KubeObject, Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { findMaintenance } from "./maintenance.ts";
import type { Installation } from "./installation.ts";
import {
  componentLabel,
  daemonSets,
  deployments,
  instanceLabel,
  statefulSets,
  variableOf,
  type Workload,
} from "./workloads.ts";
import { askStores, type StoreState } from "./stores.ts";

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
