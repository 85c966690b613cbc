import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { sessionObservationsBytes } from "#contracts/nodeLayout.ts";
import { runObservationsKey } from "#contracts/objectKeys.ts";
import { SessionObservations } from "#contracts/observations.ts";
import { printableText } from "#runtime/printableText.ts";
import { callObjectStore, isObjectMissing, type ObjectStore } from "../../stores/objectStore.ts";

const unpack = promisify(gunzip);
const what = "Reading the observations of a session";

/**
 * Returns what a session has observed, which comes from a pod and is untrusted; undefined if nothing is
 * stored or it is not readable. Throws unavailable when the object store fails.
 */
export async function readObservations(
  { client, bucket, timeoutMs }: ObjectStore,
  sessionId: string,
): Promise<SessionObservations | undefined> {
  const found = await callObjectStore(
    client.getObject(bucket, runObservationsKey(sessionId)).catch((error: unknown) => {
      if (isObjectMissing(error)) return undefined;
      throw error;
    }),
    timeoutMs,
    what,
  );
  if (found === undefined) return undefined;
  const packed = await callObjectStore(buffer(found), timeoutMs, what).finally(() => found.destroy());
  return await parseObservations(packed);
}

async function parseObservations(packed: Buffer): Promise<SessionObservations | undefined> {
  try {
    const bytes = await unpack(packed, { maxOutputLength: sessionObservationsBytes });
    const observed = SessionObservations.safeParse(JSON.parse(bytes.toString())).data;
    return (
      observed && {
        ...observed,
        refusals: observed.refusals.map(({ kind, detail }) => ({ kind, detail: printableText(detail) })),
      }
    );
  } catch {
    return undefined; // Not gzip, too large, or not JSON.
  }
}
