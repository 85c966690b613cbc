import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, type Dispatcher } from "undici";
import type { Gate, Program, Store } from "./strike.ts";

/** Options of an HTTP gate. */
export interface HttpGateOptions {
  gate: Gate;
  program: Program;
  store: Store;
  /** Origin of the server to which requests are forwarded. */
  target: string;
  /** Credentials of the gate. Without them, requests are forwarded unchanged, including signatures. */
  identity?: { tls: { ca: string; cert?: string; key?: string }; token?: string };
  /** Returns the kind of write, or undefined for requests that write nothing. */
  nameWrite: (method: string, url: URL) => string | undefined;
  /** Body of the response to a rejected request. */
  failure: { type: string; text: string };
}

/** A gate in front of an HTTP server. */
export interface HttpGate {
  url: string;
  close: () => Promise<void>;
}

interface WholeResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Hop-by-hop headers, and those that the gate replaces. */
const ownHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "authorization", "expect"]);

/** Starts a gate between a program and a server, which counts the program's writes and injects the fault. */
export async function startHttpGate({
  gate,
  program,
  store,
  target,
  identity,
  nameWrite,
  failure,
}: HttpGateOptions): Promise<HttpGate> {
  const agent = new Agent({
    allowH2: false,
    connections: null,
    ...(identity !== undefined && { connect: identity.tls }),
  });
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });

  function headersOf(request: IncomingMessage): Record<string, string | string[]> {
    const isPassedOn = (name: string): boolean =>
      name === "authorization" ? identity === undefined : !ownHeaders.has(name);
    const headers = Object.fromEntries(
      Object.entries(request.headers).filter(
        (entry): entry is [string, string | string[]] => isPassedOn(entry[0]) && entry[1] !== undefined,
      ),
    );
    if (identity === undefined) return headers;
    delete headers["host"];
    return identity.token === undefined ? headers : { ...headers, authorization: `Bearer ${identity.token}` };
  }

  function send(
    request: IncomingMessage,
    body: Buffer | null,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    return agent.request({
      origin: target,
      path: request.url ?? "/",
      method: request.method as Dispatcher.HttpMethod,
      headers: headersOf(request),
      body,
      signal,
    });
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const what = nameWrite(request.method ?? "GET", new URL(request.url ?? "/", target));
    const body = await bodyOf(request);
    const abort = new AbortController();
    if (what === undefined) {
      response.once("close", () => abort.abort());
      return passOn(await send(request, body, abort.signal), response);
    }
    // A write that has arrived is carried out even if its sender dies.
    const arrival = gate.arrive({ program, store, what });
    const apply = async (): Promise<WholeResponse> => {
      const { statusCode: status, headers, body: stream } = await send(request, body, abort.signal);
      arrival.settle(status >= 200 && status < 300);
      return { status, headers, body: Buffer.from(await stream.arrayBuffer()) };
    };
    const passage = {
      apply,
      reply: (whole: WholeResponse) =>
        void response.writeHead(whole.status, passedOn(whole.headers)).end(whole.body),
      refuse: () => void response.writeHead(500, { "content-type": failure.type }).end(failure.text),
      cut: () => void request.socket.destroy(),
    };
    if (arrival.mode === undefined) {
      passage.reply(await apply());
      return;
    }
    await gate.carryOut(program, arrival.mode, passage);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await agent.destroy();
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? null : Buffer.concat(chunks);
}

function passedOn(headers: WholeResponse["headers"]): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      (entry): entry is [string, string | string[]] => !ownHeaders.has(entry[0]) && entry[1] !== undefined,
    ),
  );
}

/** Forwards a response as it arrives, because watches never end. */
async function passOn(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(statusCode, passedOn(headers));
  response.flushHeaders();
  for await (const chunk of body) response.write(chunk);
  response.end();
}

/** Returns the kind of a Kubernetes write: verb and resource. */
export function kubeWrite(method: string, { pathname }: URL): string | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  const [, resource, subresource] =
    /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/[^/]+(?:\/([^/]+))?)?$/.exec(
      pathname,
    ) ?? [];
  return `${method} ${resource ?? pathname}${subresource === undefined ? "" : `/${subresource}`}`;
}

/** Error response of an API server. */
export const kubeFailure = {
  type: "application/json",
  text: JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason: "InternalError",
    message: "The test refuses this write.",
    code: 500,
  }),
};

/** Returns the kind of an S3 write: verb, folder of the object and step of a multipart upload. */
export function objectWrite(method: string, { pathname, searchParams }: URL): string | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  const folder = pathname.split("/")[2] ?? "";
  const step = searchParams.has("uploads")
    ? " begin"
    : searchParams.has("partNumber")
      ? " part"
      : searchParams.has("uploadId")
        ? " upload"
        : "";
  return `${method} ${folder}${step}`;
}

/** Error response of an object store. */
export const objectFailure = {
  type: "application/xml",
  text: "<Error><Code>InternalError</Code><Message>The test refuses this write.</Message></Error>",
};
