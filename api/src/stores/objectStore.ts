import { Client } from "minio";

export interface ObjectStoreOptions {
  endpoint: string;
  region: string;
  bucket: string;
  accessKey: string;
  secretKey: string;
}

/** The bucket that archives and saves live in. */
export interface ObjectStore {
  client: Client;
  bucket: string;
}

/** Multipart parts; with an unknown length the client would plan for 5 TiB and buffer 528 MiB each. */
export const partSizeBytes = 16 * 2 ** 20;

/** A client for any S3; nothing is asked of the store yet. */
export function connectObjectStore({ endpoint, region, bucket, accessKey, secretKey }: ObjectStoreOptions): ObjectStore {
  const { protocol, hostname, port } = new URL(endpoint);
  const useSSL = protocol === "https:";
  const client = new Client({
    endPoint: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (useSSL ? 443 : 80) : Number(port),
    useSSL,
    accessKey,
    secretKey,
    region,
    pathStyle: true,
    partSize: partSizeBytes,
  });
  // As over https: parts carry checksums of their own, and hashing each body just to sign it would halve the speed of uploads.
  client.enableSHA256 = false;
  return { client, bucket };
}
