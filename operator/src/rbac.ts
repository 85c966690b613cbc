import { group } from "#contracts/crd/kind.ts";
import { leaderLeases } from "#contracts/crd/names.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { events, leases, nodes, pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/**
 * The operator changes one label of nodes, which an admission policy enforces, and creates a GameNode for
 * each game node. Rights on Joypod's own kinds are granted cluster-wide: if the sessions namespace is
 * deleted, its Roles go first, and the remaining sessions could not be ended.
 */
export const clusterRules: readonly PolicyRule[] = [
  { ...resourcesOf(nodes), verbs: ["get", "list", "watch", "patch"] },
  { ...resourcesOf(gameNodes), verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { ...resourcesOf(gameNodes, "status"), verbs: ["patch"] },
  { ...resourcesOf(gameSessions), verbs: ["get", "list", "watch", "patch", "delete"] },
  { ...resourcesOf(gameCaches), verbs: ["get", "list", "watch", "patch"] },
  {
    apiGroups: [group],
    resources: [`${gameSessions.plural}/status`, `${gameCaches.plural}/status`],
    verbs: ["patch"],
  },
  // Events of nodes are in the default namespace.
  { ...resourcesOf(events), verbs: ["create", "patch"] },
  // Required for owner references that block the owner's deletion, if the cluster checks them.
  { ...resourcesOf(gameSessions, "finalizers"), verbs: ["update"] },
];

/**
 * Needed to count the requests of other pods. The API server returns whole pods, so an admin may refuse this
 * (chart value gameNodes.countOtherPods). It is not granted if session pods have a priority class, because it
 * has no use then.
 */
export const otherPodsRules: readonly PolicyRule[] = [{ ...resourcesOf(pods), verbs: ["list", "watch"] }];

/** Session pods. `patch` is for finalizers. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(pods), verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { ...resourcesOf(events), verbs: ["create", "patch"] },
];

/**
 * Leases of the node agents' heartbeats, in the agents' namespace. They are created with each GameNode, which
 * owns them, and renewed by the agents.
 */
export const nodeAgentNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(leases), verbs: ["list", "watch", "create", "delete"] },
];

/**
 * Leader election. A Lease can be created under any name, but only the operator's own can be read and
 * renewed.
 */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(leases), verbs: ["create"] },
  { ...resourcesOf(leases), resourceNames: [leaderLeases.operator], verbs: ["get", "update"] },
];
