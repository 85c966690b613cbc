import { gameNodes } from "#contracts/crd/gameNode.ts";
import { pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/** The test reads which game nodes there are. */
export const clusterRules: readonly PolicyRule[] = [{ ...resourcesOf(gameNodes), verbs: ["list"] }];

/**
 * The test runs a pod on each node. The operator may do the same, and whoever could use this account could
 * use the operator's as easily.
 */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(pods), verbs: ["get", "list", "create", "delete"] },
];

export const releaseNamespaceRules: readonly PolicyRule[] = [];
