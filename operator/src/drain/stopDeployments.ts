import { pods } from "#kube/builtin.ts";
import { isNotFound } from "#kube/errors.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import type { KubeTransport } from "#kube/transport.ts";

/** Scales deployments to nothing and returns the label selectors of their pods; one that does not exist has none. */
export async function scaleToZero(transport: KubeTransport, namespace: string, names: readonly string[]): Promise<string[]> {
  const selectors = await Promise.all(names.map((name) => scaleOneToZero(transport, namespace, name)));
  return selectors.filter((selector) => selector !== undefined);
}

async function scaleOneToZero(transport: KubeTransport, namespace: string, name: string): Promise<string | undefined> {
  try {
    const scale = await transport.request({
      method: "PATCH", path: `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments/${encodeURIComponent(name)}/scale`,
      contentType: "application/merge-patch+json", body: { spec: { replicas: 0 } }, resource: "deployments/scale",
    });
    return (scale as { status?: { selector?: string } }).status?.selector;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Returns whether no pod is left that any of the selectors names. */
export async function haveNoPods(transport: KubeTransport, namespace: string, selectors: readonly string[]): Promise<boolean> {
  const client = new ResourceClient(transport, pods);
  const pages = await Promise.all(selectors.map((labelSelector) => client.list({ namespace, labelSelector, limit: 1 })));
  return pages.every(({ items }) => items.length === 0);
}
