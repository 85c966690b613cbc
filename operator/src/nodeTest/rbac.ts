import { group } from "#contracts/crd/kind.ts";
import type { PolicyRule } from "#kube/policyRule.ts";

/** The test reads which game nodes there are. */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: ["gamenodes"], verbs: ["list"] },
];

/** The test runs a pod on each node. The operator may do the same, and whoever could use this account could use the operator's as easily. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "create", "delete"] },
];

export const releaseNamespaceRules: readonly PolicyRule[] = [];
