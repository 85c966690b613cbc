import { group } from "#contracts/crd/kind.ts";
import type { PolicyRule } from "#kube/policyRule.ts";

/**
 * Of nodes the operator changes one label, to which an admission policy holds it; a GameNode is made for each game node. Joypod's own kinds are
 * granted here and not in the sessions' namespace: when that is deleted its Roles go first, and nobody could end the sessions that are left.
 */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: [group], resources: ["gamenodes"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { apiGroups: [group], resources: ["gamenodes/status"], verbs: ["patch"] },
  { apiGroups: [group], resources: ["gamesessions"], verbs: ["get", "list", "watch", "patch", "delete"] },
  { apiGroups: [group], resources: ["gamecaches"], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: [group], resources: ["gamesessions/status", "gamecaches/status"], verbs: ["patch"] },
  // Events of nodes: these are in the default namespace.
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  // Where the cluster checks it, an owner reference that blocks the owner's deletion needs this.
  { apiGroups: [group], resources: ["gamesessions/finalizers"], verbs: ["update"] },
];

/**
 * What other pods request of a node is known from them alone. The API server gives pods as a whole, so an admin may refuse this (chart value
 * gameNodes.countOtherPods).
 */
export const otherPodsRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
];

/** The sessions' pods; `patch` is for finalizers. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
];

/** The Leases of the node agents' heartbeats, in the agents' namespace: made with each GameNode, which owns them, and renewed by the agents. */
export const nodeAgentNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["list", "watch", "create", "delete"] },
];

/** Leader election: a Lease can be created under any name, but only the operator's own is read and renewed. */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: ["joypod-operator"], verbs: ["get", "update"] },
];
