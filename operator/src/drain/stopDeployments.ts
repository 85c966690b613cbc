import { pods } from "#kube/api/builtin.ts";
import { isNotFound } from "#kube/api/errors.ts";
import type { KubeRequest } from "#kube/client/request.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

interface Scale {
  spec?: { replicas?: number };
  status?: { selector?: string };
}

/**
 * Scales deployments to nothing and returns the label selectors of their pods; one that does not exist has
 * none.
 */
export async function scaleToZero(
  transport: KubeTransport,
  namespace: string,
  names: readonly string[],
): Promise<string[]> {
  const toZero = {
    method: "PATCH",
    contentType: "application/merge-patch+json",
    body: { spec: { replicas: 0 } },
  } as const;
  const scales = await Promise.all(names.map((name) => requestScale(transport, namespace, name, toZero)));
  return scales.map((scale) => scale?.status?.selector).filter((selector) => selector !== undefined);
}

/** Returns those of the deployments that want pods. */
export async function scaledUp(
  transport: KubeTransport,
  namespace: string,
  names: readonly string[],
): Promise<string[]> {
  const scales = await Promise.all(
    names.map((name) => requestScale(transport, namespace, name, { method: "GET" })),
  );
  return names.filter((_, index) => (scales[index]?.spec?.replicas ?? 0) > 0);
}

async function requestScale(
  transport: KubeTransport,
  namespace: string,
  name: string,
  request: Pick<KubeRequest, "method" | "contentType" | "body">,
): Promise<Scale | undefined> {
  const path = `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments/${encodeURIComponent(name)}/scale`;
  try {
    return (await transport.request({ ...request, path, resource: "deployments/scale" })) as Scale;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Returns whether no pod is left that any of the selectors names. */
export async function haveNoPods(
  transport: KubeTransport,
  namespace: string,
  selectors: readonly string[],
): Promise<boolean> {
  const client = new ResourceClient(transport, pods);
  const pages = await Promise.all(
    selectors.map((labelSelector) => client.list({ namespace, labelSelector, limit: 1 })),
  );
  return pages.every(({ items }) => items.length === 0);
}
