import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";
import { quotaName } from "./drainRelease.ts";

/** GameNodes stay, with the definitions: those of another release may be among them. */
export const clusterRules: readonly PolicyRule[] = [];

/**
 * Ends all sessions; `patch` is for finalizers that nobody is left to remove, and the quota keeps new
 * sessions away meanwhile.
 */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameSessions), verbs: ["get", "list", "patch", "delete"] },
  { ...resourcesOf(gameCaches), verbs: ["get", "list", "patch"] },
  { ...resourcesOf(pods), verbs: ["get", "list", "patch"] },
  { apiGroups: [""], resources: ["resourcequotas"], verbs: ["create"] },
  { apiGroups: [""], resources: ["resourcequotas"], resourceNames: [quotaName], verbs: ["delete"] },
];

/** Stops the programs that would write to what is being released. The chart puts the release's name in. */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  {
    apiGroups: ["apps"],
    resources: ["deployments/scale"],
    resourceNames: ["{{ .Release.Name }}-api", "{{ .Release.Name }}-operator"],
    verbs: ["get", "patch"],
  },
  { ...resourcesOf(pods), verbs: ["list"] },
  // Its own Job, which says who made it.
  {
    apiGroups: ["batch"],
    resources: ["jobs"],
    resourceNames: ['{{ include "joypod.jobName" (dict "root" . "component" "drain") }}'],
    verbs: ["get"],
  },
];
