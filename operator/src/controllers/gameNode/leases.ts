import type { GameNode } from "#contracts/crd/gameNode.ts";
import { heartbeatLabelsOf, type Installation } from "#contracts/crd/installation.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import type { Lease } from "#kube/api/builtin.ts";
import { ignoreDeleted, isAlreadyExists } from "#kube/api/errors.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import { isOwnedBy, keyOfRef, ownedBy, type Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Cluster } from "../../cluster/cluster.ts";

/** What the Leases of the agents' heartbeats are kept with. */
export interface LeaseDeps {
  cluster: Pick<Cluster, "leases">;
  leases: ResourceClient<Lease>;
  nodeAgentNamespace: string;
  installation: Pick<Installation, "name">;
}

/**
 * Makes the Lease that the node's agent renews; the cluster deletes it with its GameNode. Where there is no
 * Lease, because the operator is of an earlier release, the agent reports in the GameNode's status that it
 * lives.
 */
export async function ensureLease(
  gameNode: Stored<GameNode>,
  deps: LeaseDeps,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, leases, nodeAgentNamespace, installation } = deps;
  const { name } = gameNode.metadata;
  const known = leaseOf(name, deps);
  if (known && isOwnedBy(known, gameNode.metadata.uid)) return;
  // The Lease belongs to a former GameNode of this name. Its deletion brings the next pass, which makes a new
  // one.
  if (known) return deleteLease(known, deps, signal);
  const ownerReferences = [{ ...ownedBy(gameNode), blockOwnerDeletion: false }];
  try {
    cluster.leases.upsert(
      await leases.create(
        {
          metadata: {
            name,
            namespace: nodeAgentNamespace,
            labels: heartbeatLabelsOf(installation),
            ownerReferences,
          },
          spec: {},
        },
        { fieldManager: fieldManagers.operator, signal },
      ),
    );
  } catch (error) {
    // Either the watch has not shown this Lease yet, or it belongs to another program: then the agent reports
    // in the GameNode's status instead.
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Deletes the Lease of a node that is no game node any more. */
export async function removeLease(name: string, deps: LeaseDeps, signal: AbortSignal): Promise<void> {
  const known = leaseOf(name, deps);
  if (known) await deleteLease(known, deps, signal);
}

function leaseOf(name: string, { cluster, nodeAgentNamespace }: LeaseDeps): Stored<Lease> | undefined {
  return cluster.leases.get(keyOfRef({ namespace: nodeAgentNamespace, name }));
}

async function deleteLease(lease: Stored<Lease>, { leases }: LeaseDeps, signal: AbortSignal): Promise<void> {
  if (isDeleting(lease)) return;
  await leases.delete(lease.metadata, { uid: lease.metadata.uid, signal }).catch(ignoreDeleted);
}
