import { leaderLeases } from "#contracts/crd/names.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { announcementConfigMap } from "#contracts/announcement.ts";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import { configMaps, leases, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";

/**
 * Reads game nodes. Permissions for releasing sessions are cluster-wide: when the sessions' namespace is
 * deleted, its Roles go first, and remaining sessions could never be released.
 */
export const clusterRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameNodes), verbs: ["get", "list", "watch"] },
  { ...resourcesOf(gameSessions), verbs: ["get", "list", "watch", "patch"] },
  { ...resourcesOf(gameCaches), verbs: ["get", "list", "watch"] },
];

/** Creates sessions and caches; the API only reads their status. */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameSessions), verbs: ["create"] },
  { ...resourcesOf(gameCaches), verbs: ["create", "patch", "delete"] },
];

/**
 * Leader election: RBAC cannot restrict the name of a created Lease, but only the API's own may be read and
 * renewed. Maintenance and announcements are set by admins and only read here.
 */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  {
    ...resourcesOf(configMaps),
    resourceNames: [maintenanceConfigMap, announcementConfigMap],
    verbs: ["get", "list", "watch"],
  },
  { ...resourcesOf(leases), verbs: ["create"] },
  { ...resourcesOf(leases), resourceNames: [leaderLeases.api], verbs: ["get", "update"] },
];
