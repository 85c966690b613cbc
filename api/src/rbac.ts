import { group } from "#contracts/crd/kind.ts";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import type { PolicyRule } from "#kube/policyRule.ts";

/**
 * Game nodes: how many sessions fit, and which hold a game. What releasing a session takes is granted here and not in the sessions' namespace:
 * when that is deleted its Roles go first, and the sessions that are left could never be released.
 */
export const clusterRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: ["gamenodes"], verbs: ["get", "list", "watch"] },
  { apiGroups: [group], resources: ["gamesessions"], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: [group], resources: ["gamecaches"], verbs: ["get", "list", "watch"] },
];

/** Sessions and caches are the API's to ask for; their status it only reads. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [group], resources: ["gamesessions"], verbs: ["create"] },
  { apiGroups: [group], resources: ["gamecaches"], verbs: ["create", "patch", "delete"] },
];

/**
 * Leader election of the background work: a Lease can be created under any name, but only the API's own is read and renewed. Maintenance is an
 * admin's to turn on: the API only looks.
 */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["configmaps"], resourceNames: [maintenanceConfigMap], verbs: ["get", "list", "watch"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], resourceNames: ["joypod-api"], verbs: ["get", "update"] },
];
