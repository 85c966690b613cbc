import { S3Error } from "minio";
import { callObjectStore, retryObjectStore, type ObjectStore } from "../stores/objectStore.ts";

/** Timeout of completing an upload, as a multiple of the timeout of other requests: thousands of parts. */
const completeTimeouts = 12;

/** A part that the object store has acknowledged. */
export interface StoredPart {
  part: number;
  etag: string;
}

/** Opens a multipart upload and returns its id; nothing is visible under the key until it is completed. */
export async function openMultipartUpload(store: ObjectStore, key: string): Promise<string> {
  const { client, bucket, timeoutMs } = store;
  const opening = client.initiateNewMultipartUpload(bucket, key, { "content-type": "application/gzip" });
  return callObjectStore(opening, timeoutMs, "Opening an upload");
}

/** Makes the object of these parts visible. A no-op if that has already happened. */
export async function completeMultipartUpload(
  { client, bucket, timeoutMs }: ObjectStore,
  { key, uploadId, bytes }: { key: string; uploadId: string; bytes: number },
  parts: StoredPart[],
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  await retryObjectStore(
    { ms: completeTimeouts * timeoutMs, what: "Completing an upload", signal },
    async () => {
      try {
        await client.completeMultipartUpload(bucket, key, uploadId, parts);
      } catch (error) {
        // An attempt without a response may have completed it.
        if (!(error instanceof S3Error) || error.code !== "NoSuchUpload") throw error;
        const found = await client.statObject(bucket, key).catch(() => undefined);
        if (found?.size !== bytes) throw error;
      }
    },
  );
}
