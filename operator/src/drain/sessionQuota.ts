import { gameSessionKind } from "#contracts/crd/gameSession.ts";
import { isAlreadyExists, isForbidden, isNotFound } from "#kube/api/errors.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

/** Name of the quota that keeps new sessions away. */
export const quotaName = "joypod-drain";

/** Has the API server refuse new sessions. A namespace that is gone, or goes, takes none anyway. */
export async function refuseNewSessions(transport: KubeTransport, namespace: string): Promise<void> {
  const body = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: quotaName },
    spec: { hard: { [`count/${gameSessionKind.plural}.${gameSessionKind.group}`]: "0" } },
  };
  await transport
    .request({ method: "POST", path: pathOf(namespace), body, resource: "resourcequotas" })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error) && !isNotFound(error) && !isForbidden(error)) throw error;
    });
}

/**
 * Takes `refuseNewSessions` back, so that a namespace that outlives the release can be used by the next one.
 */
export async function allowNewSessions(transport: KubeTransport, namespace: string): Promise<void> {
  await transport
    .request({ method: "DELETE", path: `${pathOf(namespace)}/${quotaName}`, resource: "resourcequotas" })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}

function pathOf(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/resourcequotas`;
}
