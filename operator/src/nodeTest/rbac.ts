import { gameNodes } from "#contracts/crd/gameNode.ts";
import { pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/** The test lists the game nodes. */
export const clusterRules: readonly PolicyRule[] = [{ ...resourcesOf(gameNodes), verbs: ["list"] }];

/**
 * The test runs a pod on each node, which the operator may do as well. Access to this account is no more
 * dangerous than access to the operator's.
 */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(pods), verbs: ["get", "list", "create", "delete"] },
];

export const releaseNamespaceRules: readonly PolicyRule[] = [];
