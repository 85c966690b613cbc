import type { Pod } from "#kube/api/builtin.ts";
import { pullSecretsOf } from "./pullSecrets.ts";

/**
 * Returns the part of the spec by which a pod runs once, holds nothing, and is ended by the cluster after so
 * many seconds, in case nobody is left to remove it.
 */
export function shortLivedPod(longestSeconds: number, images: { imagePullSecrets: readonly string[] }) {
  return {
    restartPolicy: "Never",
    activeDeadlineSeconds: longestSeconds,
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    ...pullSecretsOf(images),
  } satisfies Partial<NonNullable<Pod["spec"]>>;
}
