import type { Pod } from "#kube/api/builtin.ts";
import { ignoreDeleted } from "#kube/api/errors.ts";
import type { Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import { pullSecretsOf } from "./podSpec.ts";

/**
 * Returns the part of the spec of a pod that runs once and has no rights. The cluster ends it after this many
 * seconds, in case its creator no longer exists to remove it.
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
 * Requests the deletion of exactly this pod. Also resolves if the pod is gone or another one has its name.
 *
 * @throws KubeError
 */
export async function removePod(
  pods: ResourceClient<Pod>,
  { metadata }: Pick<Stored<Pod>, "metadata">,
): Promise<void> {
  await pods.delete(metadata, { uid: metadata.uid }).catch(ignoreDeleted);
}

/** Requests the deletion of all matching pods of the namespace. @throws KubeError */
export async function removePods(
  pods: ResourceClient<Pod>,
  selection: { namespace: string; labelSelector: string },
): Promise<void> {
  const { items } = await pods.listAll(selection);
  await Promise.all(items.map((pod) => removePod(pods, pod)));
}
