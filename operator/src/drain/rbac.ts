import { gameCaches } from "#contracts/crd/gameCache.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { pods, resourcesOf, type PolicyRule } from "#kube/api/builtin.ts";
import { quotaName } from "./drainRelease.ts";

/** GameNodes stay, like the definitions, because they may belong to another release. */
export const clusterRules: readonly PolicyRule[] = [];

/**
 * Ends all sessions. `patch` removes finalizers that no program is left to remove. The quota blocks new
 * sessions during the drain.
 */
export const sessionsNamespaceRules: readonly PolicyRule[] = [
  { ...resourcesOf(gameSessions), verbs: ["get", "list", "patch", "delete"] },
  { ...resourcesOf(gameCaches), verbs: ["get", "list", "patch"] },
  { ...resourcesOf(pods), verbs: ["get", "list", "patch"] },
  { apiGroups: [""], resources: ["resourcequotas"], verbs: ["create"] },
  { apiGroups: [""], resources: ["resourcequotas"], resourceNames: [quotaName], verbs: ["delete"] },
];

/** Stops the programs that would write to objects being released. The chart inserts the release's name. */
export const releaseNamespaceRules: readonly PolicyRule[] = [
  {
    apiGroups: ["apps"],
    resources: ["deployments/scale"],
    resourceNames: ["{{ .Release.Name }}-api", "{{ .Release.Name }}-operator"],
    verbs: ["get", "patch"],
  },
  { ...resourcesOf(pods), verbs: ["list"] },
  // The program's own Job, whose field managers show who created it.
  {
    apiGroups: ["batch"],
    resources: ["jobs"],
    resourceNames: ['{{ include "joypod.jobName" (dict "root" . "component" "drain") }}'],
    verbs: ["get"],
  },
];
