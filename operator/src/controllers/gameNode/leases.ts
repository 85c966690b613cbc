import type { GameNode } from "#contracts/crd/gameNode.ts";
import { heartbeatLabelsOf, type Installation } from "#contracts/crd/installation.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import type { Lease } from "#kube/api/builtin.ts";
import { ignoreDeleted, isAlreadyExists } from "#kube/api/errors.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import { isOwnedBy, keyOfRef, ownedBy, type Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Cluster } from "../../cluster/cluster.ts";

/** Dependencies of the functions that manage heartbeat Leases. */
export interface LeaseDeps {
  cluster: Pick<Cluster, "leases">;
  leases: ResourceClient<Lease>;
  nodeAgentNamespace: string;
  installation: Pick<Installation, "name">;
}

/**
 * Creates the Lease that the node's agent renews. The cluster deletes it with its GameNode. Without a Lease,
 * as with an operator of an earlier release, the agent reports its heartbeat in the GameNode's status.
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
  // The Lease belongs to a former GameNode of this name. Its deletion triggers the next pass, which creates a
  // new one.
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
    // Either the watch has not shown this Lease yet, or it belongs to another program. In the latter case the
    // agent reports in the GameNode's status instead.
    if (!isAlreadyExists(error)) throw error;
  }
}

/** Deletes the Lease of a node that is no longer a game node. */
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
