import { KubeError } from "#kube/api/errors.ts";
import type { Installation } from "./installation.ts";

/**
 * What the API says of its stores: Redis is not asked, as the API does without it. `unknown` when the API
 * could not be asked.
 */
export type StoreState = { state: "ready" } | { state: "unready" | "unknown"; message: string };

const deadlineMs = 5_000;

/**
 * Asks the API's /readyz by way of the API server, which needs the right to `get services/proxy` and a
 * network that lets it through.
 */
export async function askStores({
  transport,
  release,
  namespace,
}: Pick<Installation, "transport" | "release" | "namespace">): Promise<StoreState> {
  try {
    await transport.request({
      method: "GET",
      path: `/api/v1/namespaces/${namespace}/services/${release}-api:http/proxy/readyz`,
      deadlineMs,
    });
    return { state: "ready" };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const said = /^(?!The API server|no endpoints|error trying)/.test(error.message) && error.status === 503;
    return { state: said ? "unready" : "unknown", message: error.message };
  }
}
