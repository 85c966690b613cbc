import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { Client, S3Error } from "minio";
import type { ObjectStoreAccess } from "#s3/objectStoreVariables.ts";
import { WebIdentityProvider } from "#s3/webIdentityProvider.ts";
import { unavailable } from "../errors.ts";
import { withTimeout } from "#runtime/scheduling/deadline.ts";

/** Where the object store is, and how it is used. */
interface ObjectStoreOptions extends ObjectStoreAccess {
  bucket: string;
  timeoutMs: number;
}

/** The bucket that archives and saves live in. */
export interface ObjectStore {
  client: Client;
  bucket: string;
  /** How long to wait for the response to a request that moves no data. */
  timeoutMs: number;
}

/** How long a connection may be idle, in such timeouts: as long as the slowest response may take. */
const idleTimeouts = 12;

/** Returns a client for any S3 object store; nothing is requested yet. */
export function connectObjectStore({
  endpoint,
  region,
  bucket,
  accessKey,
  secretKey,
  webIdentity,
  authorities,
  timeoutMs,
}: ObjectStoreOptions): ObjectStore {
  const { protocol, hostname, port } = new URL(endpoint);
  const useSSL = protocol === "https:";
  const client = new Client({
    endPoint: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (useSSL ? 443 : 80) : Number(port),
    useSSL,
    ...(webIdentity === undefined
      ? { accessKey, secretKey }
      : { credentialsProvider: new WebIdentityProvider(webIdentity) }),
    region,
    pathStyle: true,
    transportAgent: createTimeoutAgent(useSSL, idleTimeouts * timeoutMs, authorities),
  });
  // As over https: parts have checksums, and hashing each body only for the signature would halve the upload
  // speed.
  client.enableSHA256 = false;
  return { client, bucket, timeoutMs };
}

/** Returns an agent that closes connections which hang; the client itself would wait for ever. */
function createTimeoutAgent(isSecure: boolean, idleMs: number, ca: string[] | undefined): Agent {
  const options = { keepAlive: true, timeout: idleMs };
  const agent = isSecure
    ? new SecureAgent({ ...options, ...(ca !== undefined && { ca }) })
    : new Agent(options);
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    return socket?.on("timeout", () => socket.destroy(new Error("The object store does not respond.")));
  };
  return agent;
}

/**
 * Resolves when the bucket exists and can be listed.
 *
 * @throws the object store's error
 */
export async function requireBucket({ client, bucket }: ObjectStore): Promise<void> {
  try {
    if (await client.bucketExists(bucket)) return;
  } catch (error) {
    if (!(error instanceof S3Error)) throw error;
  }
  // Responses to HEAD have no body and no reason. This request needs the same permission.
  await client.makeRequestAsyncOmit({ method: "GET", bucketName: bucket, query: "list-type=2&max-keys=1" });
}

/**
 * Returns the object store's response to a request. Throws unavailable when it fails, or does not respond
 * within `ms`.
 */
export async function callObjectStore<T>(request: Promise<T>, ms: number, what: string): Promise<T> {
  try {
    return await withTimeout(request, ms, what);
  } catch (cause) {
    throw unavailable("The archive store is temporarily unavailable. Try again in a moment.", cause);
  }
}
