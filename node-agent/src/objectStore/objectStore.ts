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
import { orAborted } from "#runtime/scheduling/deadline.ts";
import type { ObjectStoreAccess } from "#s3/objectStoreVariables.ts";
import { StoreErrorResponse } from "#s3/objectStoreFailure.ts";
import { WebIdentityProvider } from "#s3/webIdentityProvider.ts";

/** Names one object. */
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

/** Bytes to be stored: so many, or nothing is stored. */
interface Upload {
  sizeBytes: number;
  /** Base64, for the object store to check what arrived. */
  md5: string;
  /** Returns the bytes from the start. */
  read(): Readable;
}

/** The few things the agent asks of S3. Errors are ObjectStoreError, or the caller's abort reason. */
export interface ObjectStore {
  /** With an etag, fails with `Changed` when the object has been replaced. */
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

/** Where the object store is, and who asks. */
interface ObjectStoreOptions extends ObjectStoreAccess {
  /** A connection that is silent for this long is given up. */
  idleTimeoutMs?: number | undefined;
}

const urlLifetimeSeconds = 3600;

/**
 * Returns a client of the object store. It signs with the minio client and speaks plain `node:http`, which is
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
    const target = await orAborted(signing, options.signal).catch((error: unknown) => {
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
        // Of an object without bytes there is no first one to begin with.
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
      // What is answered to HEAD has no body, and so no reason: this asks for the same right.
      const listing = await send("GET", location, { signal, query: { "list-type": "2", "max-keys": "1" } });
      if (listing.statusCode !== 200) throw await failureOf(listing, location);
      listing.resume();
    },
    close: () => agent.destroy(),
  };
}

/**
 * Passes the bytes on. Throws when there are more, of which the store would take the surplus for the next
 * request on the connection, or fewer.
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
    // An object store that refuses responds before it has read all: then the response counts, not the broken
    // pipe.
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

/** Returns the response as an error; the body is XML for people and read only as far as it helps. */
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
  // A save that is missing is lost. So that is believed of S3's own word alone: a bucket may not be restored
  // yet, and a proxy answers 404, too, while it has no way to the object store. What is answered to HEAD has
  // no body, and so no such word.
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
    // A cut error text is still an error; the status says enough.
  }
  return Buffer.concat(parts).toString("latin1");
}

function etagOf(response: IncomingMessage): string {
  return response.headers.etag ?? "";
}

/** Why the object store did not do what was asked. */
type ObjectStoreFailure = "Unreachable" | "NotFound" | "Changed" | "Refused";

/**
 * The object store's response as an error, or the lack of a response. Only `Unreachable` gets better by
 * waiting: a bucket that is not there counts as that. `NotFound` is said of the object alone.
 */
export class ObjectStoreError extends Error {
  readonly failure: ObjectStoreFailure;

  constructor(failure: ObjectStoreFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "ObjectStoreError";
    this.failure = failure;
  }
}

/**
 * Returns whether the error means that the object store could not be reached, is not healthy, or has no such
 * bucket.
 */
export function isObjectStoreUnreachable(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.failure === "Unreachable";
}

/** What was read is not what its digest says. */
export class ChecksumMismatch extends Error {
  constructor(expected: string, actual: string, cause?: unknown) {
    super(`The bytes read have SHA-256 ${actual}, not ${expected}.`, { cause });
    this.name = "ChecksumMismatch";
  }
}

/** One read of a fast connection returns several hundred KiB. */
const readBytes = 1024 * 1024;

/**
 * Keeps connections to the object store alive, each with its own read buffer. The usual way, a new buffer of
 * 64 KiB for each read, costs five times the processor time, and most of it in the garbage collector.
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
        // The HTTP parser listens to this event, and copies what it passes on.
        callback(bytes, buffer) {
          socket.emit("data", Buffer.from(buffer.buffer, buffer.byteOffset, bytes));
          return true;
        },
      },
    });
    return socket;
  }
}
