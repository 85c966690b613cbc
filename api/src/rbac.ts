import { leaderLeases } from "#contracts/crd/names.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import { configMaps, leases, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/**
 * Game nodes: how many sessions fit, and which hold a game. What releasing a session takes is granted here
 * and not in the sessions' namespace: when that is deleted its Roles go first, and the sessions that are left
 * could never be released.
 */
export const clusterRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameNodes), verbs: ["get", "list", "watch"] },
  { ...resourcesOf(gameSessions), verbs: ["get", "list", "watch", "patch"] },
  { ...resourcesOf(gameCaches), verbs: ["get", "list", "watch"] },
];

/** Sessions and caches are the API's to ask for; their status it only reads. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameSessions), verbs: ["create"] },
  { ...resourcesOf(gameCaches), verbs: ["create", "patch", "delete"] },
];

/**
 * Leader election of the background work: a Lease can be created under any name, but only the API's own is
 * read and renewed. Maintenance is an admin's to turn on: the API only looks.
 */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(configMaps), resourceNames: [maintenanceConfigMap], verbs: ["get", "list", "watch"] },
  { ...resourcesOf(leases), verbs: ["create"] },
  { ...resourcesOf(leases), resourceNames: [leaderLeases.api], verbs: ["get", "update"] },
];
