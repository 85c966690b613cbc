import { pods, type Pod } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Installation } from "./installation.ts";
import { componentLabel, instanceLabel } from "./workloads.ts";

/** Name of the API's container in its pods. */
export const apiContainer = "api";

/**
 * Returns the name of a running pod of the API, preferably one that is ready and not being deleted; undefined
 * if none runs. Throws KubeError.
 */
export async function findApiPod({
  transport,
  namespace,
  release,
}: Installation): Promise<string | undefined> {
  const labelSelector = `app.kubernetes.io/name=joypod,${instanceLabel}=${release},${componentLabel}=api`;
  const { items } = await new ResourceClient(transport, pods).listAll({ namespace, labelSelector });
  const running = items.filter(({ status }) => status?.phase === "Running");
  return (running.find(isInService) ?? running[0])?.metadata.name;
}

function isInService({ metadata, status }: Pod): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && metadata.deletionTimestamp === undefined;
}
