import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Agent, type Dispatcher } from "undici";
import type { Gate, Program, Store } from "./strike.ts";

/** Where the requests of one program go, and what they are. */
export interface HttpGateOptions {
  gate: Gate;
  program: Program;
  store: Store;
  /** Origin of the server. */
  target: string;
  /** With what the gate is known to the server; without it requests pass as they are, signatures and all. */
  identity?: { tls: { ca: string; cert?: string; key?: string }; token?: string };
  /** Names what a request writes; undefined for one that writes nothing. */
  nameWrite: (method: string, url: URL) => string | undefined;
  /** The body of a response to a refused request. */
  failure: { type: string; text: string };
}

/** A gate that stands before a server of HTTP. */
export interface HttpGate {
  url: string;
  close: () => Promise<void>;
}

interface WholeResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Of one hop, or made anew by this one. */
const ownHeaders = new Set(["connection", "keep-alive", "transfer-encoding", "authorization", "expect"]);

/**
 * Starts a gate between one program and one server: it numbers the program's writes, and one of them is
 * struck.
 */
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
    // A write that has arrived is carried out, whatever becomes of who sent it.
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

/** Passes a response on as it comes: a watch says something now and then, and never ends. */
async function passOn(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(statusCode, passedOn(headers));
  response.flushHeaders();
  for await (const chunk of body) response.write(chunk);
  response.end();
}

/** Names a write of the Kubernetes API by its verb and resource. */
export function kubeWrite(method: string, { pathname }: URL): string | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  const [, resource, subresource] =
    /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/[^/]+(?:\/([^/]+))?)?$/.exec(
      pathname,
    ) ?? [];
  return `${method} ${resource ?? pathname}${subresource === undefined ? "" : `/${subresource}`}`;
}

/** What an API server says that fails. */
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

/** Names a write of S3 by its verb, the folder of its object and the step of an upload that it is. */
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

/** What an object store says that fails. */
export const objectFailure = {
  type: "application/xml",
  text: "<Error><Code>InternalError</Code><Message>The test refuses this write.</Message></Error>",
};
