import { group } from "#contracts/crd/kind.ts";
import type { PolicyRule } from "#kube/policyRule.ts";

/** Which nodes there are to test. */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: ["gamenodes"], verbs: ["list"] },
];

/** A pod for each: no more than the operator may, whose account is as near to whoever could use this one. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "create", "delete"] },
];

export const releaseNamespaceRules: readonly PolicyRule[] = [];
