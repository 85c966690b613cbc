import {
  Agent,
  type ClientRequestArgs,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Client } from "minio";
import { untilAborted } from "#runtime/scheduling/deadline.ts";
import type { ObjectStoreAccess } from "#s3/objectStoreVariables.ts";
import { StoreErrorResponse } from "#s3/objectStoreFailure.ts";
import { WebIdentityProvider } from "#s3/webIdentityProvider.ts";

/** The location of one object. */
export interface ObjectLocation {
  bucket: string;
  key: string;
}

/** The bytes of an object from an offset on. */
interface OpenedObject {
  body: Readable;
  etag: string;
  /** Size of the whole object. */
  totalBytes: number;
}

/** Bytes to store. An upload of any other size stores nothing. */
interface Upload {
  sizeBytes: number;
  /** Base64, for the object store to verify the received bytes. */
  md5: string;
  /** Returns the bytes from the start. */
  read(): Readable;
}

/** The S3 operations that the agent needs. Errors are ObjectStoreError, or the caller's abort reason. */
export interface ObjectStore {
  /** With an etag, fails with `Changed` if the object has been replaced. */
  open(
    location: ObjectLocation,
    from: { offset: number; etag?: string | undefined },
    signal: AbortSignal,
  ): Promise<OpenedObject>;
  stat(location: ObjectLocation, signal: AbortSignal): Promise<{ etag: string; totalBytes: number }>;
  put(location: ObjectLocation, upload: Upload, signal: AbortSignal): Promise<void>;
  /** Rejects when the object store is unavailable or refuses the credentials. */
  probe(bucket: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Location and credentials of the object store. */
interface ObjectStoreOptions extends ObjectStoreAccess {
  /** A connection that is silent for this long is closed. */
  idleTimeoutMs?: number | undefined;
}

const urlLifetimeSeconds = 3600;

/**
 * Returns a client of the object store. Signs with the minio client and uses plain `node:http`, which is
 * twice as fast as fetch.
 */
export function createObjectStore({
  endpoint,
  region,
  accessKey,
  secretKey,
  webIdentity,
  authorities,
  idleTimeoutMs = 20_000,
}: ObjectStoreOptions): ObjectStore {
  const url = new URL(endpoint);
  const useSSL = url.protocol === "https:";
  const port = url.port === "" ? (useSSL ? 443 : 80) : Number(url.port);
  const keys =
    webIdentity === undefined
      ? { accessKey, secretKey }
      : { credentialsProvider: new WebIdentityProvider(webIdentity) };
  const client = new Client({ endPoint: url.hostname, port, useSSL, region, ...keys });
  const agent = useSSL
    ? new HttpsAgent({ keepAlive: true, ...(authorities !== undefined && { ca: authorities }) })
    : new BufferedAgent();

  async function send(
    method: string,
    location: ObjectLocation,
    options: SendOptions,
  ): Promise<IncomingMessage> {
    const signing = client.presignedUrl(
      method,
      location.bucket,
      location.key,
      urlLifetimeSeconds,
      options.query,
    );
    const target = await untilAborted(signing, options.signal).catch((error: unknown) => {
      options.signal.throwIfAborted();
      throw new ObjectStoreError("Unreachable", "There are no credentials for the object store.", error);
    });
    return exchange(
      target,
      { method, agent, timeout: idleTimeoutMs, headers: options.headers ?? {} },
      options,
    );
  }

  return {
    async open(location, { offset, etag }, signal) {
      const headers: Record<string, string> = { range: `bytes=${offset}-` };
      if (etag !== undefined) headers["if-match"] = etag;
      const body = await send("GET", location, { headers, signal });
      if (offset === 0 && body.statusCode === 416) {
        // An empty object has no first byte for the range to start at.
        body.resume();
        return { body: Readable.from([]), etag: etagOf(body), totalBytes: 0 };
      }
      if (body.statusCode !== 200 && body.statusCode !== 206) throw await failureOf(body, location);
      const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(body.headers["content-range"] ?? "");
      if (range === null || Number(range[1]) !== offset) {
        body.destroy();
        throw new ObjectStoreError(
          "Refused",
          `The object store did not return the requested range of ${location.key}.`,
        );
      }
      return { body, etag: etagOf(body), totalBytes: Number(range[2]) };
    },
    async stat(location, signal) {
      const response = await send("HEAD", location, { signal });
      if (response.statusCode !== 200) throw await failureOf(response, location, "HEAD");
      response.resume();
      return { etag: etagOf(response), totalBytes: Number(response.headers["content-length"] ?? 0) };
    },
    async put(location, upload, signal) {
      const { sizeBytes, md5 } = upload;
      const headers = {
        "content-length": String(sizeBytes),
        "content-md5": md5,
        "content-type": "application/gzip",
      };
      const response = await send("PUT", location, {
        headers,
        signal,
        body: Readable.from(exactly(sizeBytes, upload.read()), { objectMode: false }),
      });
      if (response.statusCode !== 200) throw await failureOf(response, location);
      response.resume();
    },
    async probe(bucket, signal) {
      const location = { bucket, key: "" };
      const response = await send("HEAD", location, { signal });
      response.resume();
      if (response.statusCode === 200) return;
      // A response to HEAD has no body and thus no reason. This request needs the same permission.
      const listing = await send("GET", location, { signal, query: { "list-type": "2", "max-keys": "1" } });
      if (listing.statusCode !== 200) throw await failureOf(listing, location);
      listing.resume();
    },
    close: () => agent.destroy(),
  };
}

/**
 * Yields the given bytes. Throws if there are more or fewer than declared. The store would take surplus bytes
 * for the next request on the connection.
 */
async function* exactly(sizeBytes: number, body: Readable): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    sent += chunk.length;
    if (sent > sizeBytes) break;
    yield chunk;
  }
  if (sent !== sizeBytes) throw new Error(`The file to upload no longer has ${sizeBytes} bytes.`);
}

interface SendOptions {
  query?: Record<string, string>;
  headers?: Record<string, string>;
  signal: AbortSignal;
  body?: Readable;
}

async function exchange(
  target: string,
  options: RequestOptions,
  { signal, body }: SendOptions,
): Promise<IncomingMessage> {
  const request = target.startsWith("https:")
    ? httpsRequest(target, { ...options, signal })
    : httpRequest(target, { ...options, signal });
  request.on("timeout", () => request.destroy(new Error("The connection was silent for too long.")));
  const responded = new Promise<IncomingMessage>((resolve, reject) => {
    request.on("response", resolve);
    request.on("error", reject);
  });
  try {
    if (body === undefined) request.end();
    // An object store that refuses a request responds before it has read the body. Then the response counts,
    // not the broken pipe.
    else await Promise.race([pipeline(body, request), responded]);
    return await responded;
  } catch (error) {
    responded.catch(() => undefined);
    signal.throwIfAborted();
    throw new ObjectStoreError(
      "Unreachable",
      "The object store could not be reached or closed the connection.",
      error,
    );
  }
}

/** Returns the response as an error. The body is XML for people, and only its start is read. */
async function failureOf(
  response: IncomingMessage,
  { bucket, key }: ObjectLocation,
  method?: "HEAD",
): Promise<ObjectStoreError> {
  const status = response.statusCode ?? 0;
  const text = await readStart(response);
  const code = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1];
  const message =
    code === "NoSuchBucket"
      ? `The object store has no bucket ${bucket}.`
      : `The object store responded with ${code ?? `status ${status}`} for ${bucket}/${key}.`;
  const errorResponse = new StoreErrorResponse(
    status,
    code,
    /<Message>([^<]{1,500})<\/Message>/.exec(text)?.[1],
  );
  const isObjectMissing = method === "HEAD" || code === "NoSuchKey" || code === "NoSuchVersion";
  // A missing save is lost, so only S3's own error code is trusted: a bucket may not be restored yet, and a
  // proxy also answers 404 while it cannot reach the object store. A response to HEAD has no body and so no
  // code.
  if (status === 404)
    return new ObjectStoreError(isObjectMissing ? "NotFound" : "Unreachable", message, errorResponse);
  if (status === 412) return new ObjectStoreError("Changed", message, errorResponse);
  if (status === 429 || status >= 500) return new ObjectStoreError("Unreachable", message, errorResponse);
  return new ObjectStoreError("Refused", message, errorResponse);
}

async function readStart(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      if (!Buffer.isBuffer(chunk)) break;
      parts.push(chunk);
      bytes += chunk.length;
      if (bytes > 4096) break;
    }
  } catch {
    // A truncated error text is still an error, and the status is sufficient.
  }
  return Buffer.concat(parts).toString("latin1");
}

function etagOf(response: IncomingMessage): string {
  return response.headers.etag ?? "";
}

/** Kinds of object store failures. */
type ObjectStoreFailure = "Unreachable" | "NotFound" | "Changed" | "Refused";

/**
 * An error response of the object store, or no response. Only `Unreachable`, which includes a missing bucket,
 * can be fixed by waiting. `NotFound` refers only to the object.
 */
export class ObjectStoreError extends Error {
  readonly failure: ObjectStoreFailure;

  constructor(failure: ObjectStoreFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ObjectStoreError";
    this.failure = failure;
  }
}

/** Returns whether the object store could not be reached, is not healthy, or does not have the bucket. */
export function isObjectStoreUnreachable(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.failure === "Unreachable";
}

/** The bytes read do not match their digest. */
export class ChecksumMismatch extends Error {
  constructor(expected: string, actual: string, cause?: unknown) {
    super(`The bytes read have SHA-256 ${actual}, not ${expected}.`, { cause });
    this.name = "ChecksumMismatch";
  }
}

/** One read on a fast connection returns several hundred KiB. */
const readBytes = 1024 * 1024;

/**
 * Keeps connections to the object store alive, each with a separate read buffer. Node's default, a new 64 KiB
 * buffer for each read, takes five times the CPU time, most of it in the garbage collector.
 */
class BufferedAgent extends Agent {
  constructor() {
    super({ keepAlive: true });
  }

  override createConnection(options: ClientRequestArgs): Socket {
    const socket: Socket = connect({
      ...(options as NetConnectOpts),
      onread: {
        buffer: Buffer.allocUnsafeSlow(readBytes),
        // The HTTP parser listens to this event, and copies the bytes it passes on.
        callback(bytes, buffer) {
          socket.emit("data", Buffer.from(buffer.buffer, buffer.byteOffset, bytes));
          return true;
        },
      },
    });
    return socket;
  }
}
