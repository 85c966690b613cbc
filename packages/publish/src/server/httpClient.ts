import type { ReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { pipeline } from "node:stream/promises";
import { connectionFailureOf, type ConnectionFailure } from "#runtime/network/connectionFailure.ts";
import { messageOf, systemErrorCode } from "#runtime/errors.ts";
import { PublishError } from "../publishError.ts";

/** A request to the server. */
export interface HttpRequest {
  /** Default: GET. */
  method?: "GET" | "HEAD" | "OPTIONS" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query below the server's address. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** A body to send as JSON. */
  json?: object;
  body?: FileBody;
}

/** A part of a file to send as a body. */
export interface FileBody {
  file: string;
  start: number;
  bytes: number;
  onProgress: (sentBytes: number) => void;
}

/** A response with its whole body. */
export interface HttpResponse {
  status: number;
  /** Returns a header; undefined if it is absent. */
  header: (name: string) => string | undefined;
  text: string;
}

/** The server could not be reached, or the connection broke. */
export class UnreachableError extends PublishError {
  override readonly name = "UnreachableError";
  /** False when only a person can fix it, such as an untrusted certificate. */
  readonly isTemporary: boolean;

  constructor(address: URL, cause: unknown) {
    const failure = connectionFailureOf(cause);
    const sentence =
      failure === undefined
        ? `did not respond (${messageOf(cause) || "connection failed"}).`
        : sentences[failure];
    super("unreachable", `${address.host} ${sentence}`, { cause });
    this.isTemporary = failure === undefined;
  }
}

const sentences: Readonly<Record<ConnectionFailure, string>> = {
  untrusted:
    "has a certificate from an authority that this machine does not trust. Set NODE_EXTRA_CA_CERTS to the authority's certificate.",
  otherName: "has a certificate for another host name. Use a name from the certificate.",
  outdated: "has a certificate that has expired or is not valid yet. Check the clocks, or ask the admin.",
  noTls: "does not use TLS on this port. Use another port, or an http:// address if the network is trusted.",
  unknownHost: "is a host name that cannot be resolved. Check JOYPOD_URL.",
};

/** Without data for this long, a connection counts as broken. The server checks an archive after its end. */
const silentMs = { request: 60_000, upload: 300_000 };
const readBytes = 1024 * 1024;
const responseMaxBytes = 16 * 1024 * 1024;

/** Sends requests with the partner's key to one server, and never to another address. */
export class HttpClient {
  readonly address: URL;
  readonly #key: string;
  readonly #signal: AbortSignal;

  constructor(address: URL, key: string, signal: AbortSignal) {
    this.address = address;
    this.#key = key;
    this.#signal = signal;
  }

  /**
   * Sends a request and returns the response, whatever its status.
   *
   * @throws UnreachableError, PublishError if the body's file cannot be read, or the signal's reason when it
   *   is aborted
   */
  async send(request: HttpRequest): Promise<HttpResponse> {
    this.#signal.throwIfAborted();
    // Errors of opening it are not the server's.
    const body = request.body === undefined ? undefined : await openBody(request.body);
    try {
      return await this.#exchange(request, body);
    } catch (error) {
      this.#signal.throwIfAborted();
      throw new UnreachableError(this.address, error);
    }
  }

  async #exchange(request: HttpRequest, body: ReadStream | undefined): Promise<HttpResponse> {
    const { method = "GET", path, headers, json } = request;
    const text = json === undefined ? undefined : JSON.stringify(json);
    const bytes = request.body?.bytes ?? (text === undefined ? undefined : Buffer.byteLength(text));
    const send = this.address.protocol === "https:" ? httpsRequest : httpRequest;
    const sending = send(this.#urlOf(path), {
      method,
      signal: this.#signal,
      timeout: body === undefined ? silentMs.request : silentMs.upload,
      headers: {
        authorization: `Bearer ${this.#key}`,
        "user-agent": "joypod-publish",
        accept: "application/json",
        ...(text === undefined ? {} : { "content-type": "application/json" }),
        ...(bytes === undefined ? {} : { "content-length": String(bytes) }),
        ...headers,
      },
    });
    sending.once("timeout", () => sending.destroy(new Error("no data arrived for too long")));
    const response = responseTo(sending);
    if (body === undefined) sending.end(text);
    else await sendBody(sending, withProgress(body, request.body), response);
    return response;
  }

  #urlOf(path: string): URL {
    return new URL(`${this.address.pathname.replace(/\/$/, "")}${path}`, this.address.origin);
  }
}

async function openBody({ file, start, bytes }: FileBody): Promise<ReadStream> {
  try {
    const handle = await open(file);
    return handle.createReadStream({ start, end: start + bytes - 1, highWaterMark: readBytes });
  } catch (error) {
    const message = `${file} cannot be read (${systemErrorCode(error) ?? messageOf(error)}). Publish again.`;
    throw new PublishError("unreadable_file", message, { cause: error });
  }
}

function withProgress(body: ReadStream, part: FileBody | undefined): ReadStream {
  let sent = 0;
  return body.on("data", (chunk) => part?.onProgress((sent += chunk.length)));
}

/** The server may respond before it has read the whole body, and then close the connection. */
async function sendBody(
  sending: ClientRequest,
  body: ReadStream,
  response: Promise<HttpResponse>,
): Promise<void> {
  const sent = pipeline(body, sending);
  const outcome = await Promise.race([
    sent.then(
      () => undefined,
      (error: unknown) => ({ error }),
    ),
    response.then(() => undefined),
  ]);
  body.destroy();
  await sent.catch(() => undefined);
  // An early response explains the broken connection.
  if (outcome !== undefined) await response.catch(() => Promise.reject(toFailure(outcome.error)));
}

function toFailure(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function responseTo(sending: ClientRequest): Promise<HttpResponse> {
  const response = new Promise<HttpResponse>((resolve, reject) => {
    sending.once("error", reject);
    sending.once("response", (message) => void readResponse(message).then(resolve, reject));
  });
  // It is awaited only after the body was sent.
  response.catch(() => undefined);
  return response;
}

async function readResponse(message: IncomingMessage): Promise<HttpResponse> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > responseMaxBytes) throw new Error("the response is too large");
    chunks.push(chunk);
  }
  return {
    status: message.statusCode ?? 0,
    header: (name) => {
      const value = message.headers[name];
      return Array.isArray(value) ? value[0] : value;
    },
    text: Buffer.concat(chunks).toString("utf8"),
  };
}
