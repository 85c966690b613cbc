import type { Pod } from "#kube/builtin.ts";
import { isConflict, isNotFound } from "#kube/errors.ts";
import type { Stored } from "#kube/object.ts";
import type { ResourceClient } from "#kube/resourceClient.ts";

/** Asks for the deletion of this very pod; one that is gone, or another one of its name, is as good. */
export async function removePod(pods: ResourceClient<Pod>, { metadata }: Pick<Stored<Pod>, "metadata">): Promise<void> {
  await pods.delete(metadata, { uid: metadata.uid }).catch((error: unknown) => {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  });
}

/** Does the same with all pods of the namespace that the labels select. Throws KubeError. */
export async function removePods(pods: ResourceClient<Pod>, selection: { namespace: string; labelSelector: string }): Promise<void> {
  const { items } = await pods.listAll(selection);
  await Promise.all(items.map((pod) => removePod(pods, pod)));
}
