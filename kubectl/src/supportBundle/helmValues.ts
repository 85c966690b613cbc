import { gunzipSync } from "node:zlib";
import { isRecord } from "#kube/client/decode.ts";
import { isForbidden } from "#kube/api/errors.ts";
import { secrets } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Installation } from "../cluster/installation.ts";

/** No release's record is larger: Kubernetes refuses Secrets above 1 MiB, and charts compress well. */
const maxBytes = 64 * 2 ** 20;

/**
 * Returns what the admin set of the chart's values, as Helm keeps it; undefined when Helm did not install the
 * release, or its record may not be read.
 */
export async function findHelmValues({ transport, namespace, release }: Installation): Promise<unknown> {
  try {
    const { items } = await new ResourceClient(transport, secrets).listAll({
      namespace,
      labelSelector: `owner=helm,name=${release},status=deployed`,
    });
    const newest = items
      .toSorted((a, b) => Number(a.metadata.labels?.version) - Number(b.metadata.labels?.version))
      .at(-1);
    const record = newest?.data?.release;
    if (record === undefined) return undefined;
    // Base64 of Kubernetes around Helm's own.
    const packed = Buffer.from(Buffer.from(record, "base64").toString(), "base64");
    const content: unknown = JSON.parse(gunzipSync(packed, { maxOutputLength: maxBytes }).toString());
    return isRecord(content) ? (content.config ?? {}) : undefined;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}
