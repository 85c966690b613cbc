import { group } from "#contracts/crd/kind.ts";

/** One rule of a Role or ClusterRole. */
export interface PolicyRule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
  resourceNames?: readonly string[];
}

/** Game nodes: how many sessions fit, and which hold a game. */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: ["gamenodes"], verbs: ["get", "list", "watch"] },
];

/** Sessions and caches are the API's to ask for; their status it only reads. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: ["gamesessions"], verbs: ["get", "list", "watch", "create", "patch"] },
  { apiGroups: [group], resources: ["gamecaches"], verbs: ["get", "list", "watch", "create", "patch", "delete"] },
];

/** Leader election of the recorder. */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
];
