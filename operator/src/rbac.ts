import { group } from "#contracts/crd/kind.ts";
import { leaderLeases } from "#contracts/crd/names.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { events, leases, nodes, pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/**
 * Of nodes the operator changes one label, to which an admission policy holds it; a GameNode is made for each
 * game node. Joypod's own kinds are granted here and not in the sessions' namespace: when that is deleted its
 * Roles go first, and nobody could end the sessions that are left.
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
  // Events of nodes: these are in the default namespace.
  { ...resourcesOf(events), verbs: ["create", "patch"] },
  // Where the cluster checks it, an owner reference that blocks the owner's deletion needs this.
  { ...resourcesOf(gameSessions, "finalizers"), verbs: ["update"] },
];

/**
 * What other pods request of a node is known from them alone. The API server gives pods as a whole, so an
 * admin may refuse this (chart value gameNodes.countOtherPods); where session pods have a priority class it
 * has no use and is not granted.
 */
export const otherPodsRules: readonly PolicyRule[] = [{ ...resourcesOf(pods), verbs: ["list", "watch"] }];

/** The sessions' pods; `patch` is for finalizers. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(pods), verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { ...resourcesOf(events), verbs: ["create", "patch"] },
];

/**
 * The Leases of the node agents' heartbeats, in the agents' namespace: made with each GameNode, which owns
 * them, and renewed by the agents.
 */
export const nodeAgentNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(leases), verbs: ["list", "watch", "create", "delete"] },
];

/**
 * Leader election: a Lease can be created under any name, but only the operator's own is read and renewed.
 */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(leases), verbs: ["create"] },
  { ...resourcesOf(leases), resourceNames: [leaderLeases.operator], verbs: ["get", "update"] },
];
