import { isNotFound } from "#kube/api/errors.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

/**
 * Tools that apply a text as it stands; Helm, and those that follow its hooks, make this Job only when the
 * release is removed.
 */
const textAppliers = /^(kubectl|kustomize-controller)/;

/** Returns whether a tool that knows no hooks has made the Job, as any other object of the chart's text. */
export async function isAppliedAsText(
  transport: KubeTransport,
  namespace: string,
  name: string,
): Promise<boolean> {
  try {
    const path = `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs/${encodeURIComponent(name)}`;
    const { metadata } = (await transport.request({ method: "GET", path, resource: "jobs" })) as {
      metadata: { managedFields?: { manager?: string }[] };
    };
    return (metadata.managedFields ?? []).some(({ manager = "" }) => textAppliers.test(manager));
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
