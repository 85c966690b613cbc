import type { Pod } from "#kube/api/builtin.ts";
import { ignoreDeleted } from "#kube/api/errors.ts";
import type { Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";

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
