import { Agent } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { Client, S3Error } from "minio";
import type { ObjectStoreAccess } from "#s3/objectStoreVariables.ts";
import { WebIdentityProvider } from "#s3/webIdentityProvider.ts";
import { unavailable } from "../errors.ts";
import { backOffMs } from "#runtime/scheduling/backOff.ts";
import { sleepUntilAborted, systemClock } from "#runtime/scheduling/clock.ts";
import { withTimeout } from "#runtime/scheduling/deadline.ts";

/** Address and settings of the object store. */
interface ObjectStoreOptions extends ObjectStoreAccess {
  bucket: string;
  timeoutMs: number;
}

/** Bucket of archives and saves. */
export interface ObjectStore {
  client: Client;
  bucket: string;
  /** Timeout of a request that moves no data, in milliseconds. */
  timeoutMs: number;
}

/**
 * Idle timeout of a connection, as a multiple of the request timeout: as long as the slowest response may
 * take.
 */
const idleTimeouts = 12;

/** Returns a client for any S3 object store. Sends no request yet. */
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
  // As over https: parts have checksums, and hashing each body for the signature as well would halve the
  // upload speed.
  client.enableSHA256 = false;
  return { client, bucket, timeoutMs };
}

/** Returns an agent that closes hanging connections; the client itself would wait forever. */
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
  // Responses to HEAD have no body and therefore no reason. This request needs the same permission.
  await client.makeRequestAsyncOmit({ method: "GET", bucketName: bucket, query: "list-type=2&max-keys=1" });
}

/**
 * Returns the object store's response to a request.
 *
 * @throws unavailable when the request fails or takes longer than `ms`
 */
export async function callObjectStore<T>(request: Promise<T>, ms: number, what: string): Promise<T> {
  try {
    return await withTimeout(request, ms, what);
  } catch (cause) {
    throw unavailable("The archive store is temporarily unavailable. Try again in a moment.", cause);
  }
}

/** Six attempts take up to 8 seconds: a lost connection, or the restart of a store, ends no upload. */
const attemptsMax = 6;
const retryBackOff = { baseMs: 250, maxMs: 4_000 };
/** Responses of the object store that a repeated request would get again. */
const finalCodes: ReadonlySet<string> = new Set([
  "AccessDenied",
  "InvalidAccessKeyId",
  "NoSuchBucket",
  "NoSuchKey",
  "NoSuchUpload",
  "SignatureDoesNotMatch",
]);

/**
 * Returns the object store's response to an idempotent request, which is repeated after a failure.
 *
 * @throws unavailable when the last attempt fails, the attempts take longer than `ms`, or the signal aborts
 *   the wait between them
 */
export async function retryObjectStore<T>(
  { ms, what, signal }: { ms: number; what: string; signal: AbortSignal },
  attempt: () => Promise<T>,
): Promise<T> {
  const endMs = performance.now() + ms;
  for (let failures = 1; ; failures += 1) {
    try {
      return await withTimeout(attempt(), endMs - performance.now(), what);
    } catch (cause) {
      const waitMs = backOffMs(retryBackOff, failures, Math.random);
      const isFinal = cause instanceof S3Error && cause.code !== undefined && finalCodes.has(cause.code);
      const isLast = isFinal || failures === attemptsMax || performance.now() + waitMs >= endMs;
      if (isLast || !(await sleepUntilAborted(systemClock, waitMs, signal)))
        throw unavailable("The archive store is temporarily unavailable. Try again in a moment.", cause);
    }
  }
}

/**
 * Returns whether the object store's error says that the object does not exist. Only S3's own error code
 * counts. For a 404 without one, for example from a proxy, the client reports NotFound.
 */
export function isObjectMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "NoSuchKey";
}
