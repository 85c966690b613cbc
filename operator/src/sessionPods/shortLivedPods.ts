import type { Pod } from "#kube/api/builtin.ts";
import { ignoreDeleted } from "#kube/api/errors.ts";
import type { Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import { pullSecretsOf } from "./podSpec.ts";

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

/**
 * Asks for the deletion of this very pod. Resolves also when the pod is gone, or another one has taken its
 * name. Throws KubeError.
 */
export async function removePod(
  pods: ResourceClient<Pod>,
  { metadata }: Pick<Stored<Pod>, "metadata">,
): Promise<void> {
  await pods.delete(metadata, { uid: metadata.uid }).catch(ignoreDeleted);
}

/** Asks for the deletion of all pods of the namespace that the labels select. Throws KubeError. */
export async function removePods(
  pods: ResourceClient<Pod>,
  selection: { namespace: string; labelSelector: string },
): Promise<void> {
  const { items } = await pods.listAll(selection);
  await Promise.all(items.map((pod) => removePod(pods, pod)));
}
