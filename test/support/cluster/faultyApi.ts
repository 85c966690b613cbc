import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { Agent } from "undici";
import { KubeTransport, type TransportOptions } from "#kube/client/transport.ts";
import { temporaryFolder } from "../processes/temporaryFolder.ts";
import type { KubeApiServer } from "./kubeApiServer.ts";
import { openKubeconfig } from "./openKubeconfig.ts";

/** A request as it came in. */
export interface SeenRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  isWatch: boolean;
}

/** A watch that a client holds open. */
interface OpenWatch {
  response: ServerResponse;
  abort: AbortController;
}

type Fault = (
  request: SeenRequest,
  response: ServerResponse,
  incoming: IncomingMessage,
) => boolean | Promise<boolean>;

/**
 * Stands in front of a real API server, passes everything on as the administrator, and misbehaves when told
 * to, in the ways that networks, load balancers and overloaded servers do.
 */
export class FaultyApi {
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  readonly #upstream: { url: string; agent: Agent };
  readonly #watches = new Set<OpenWatch>();
  readonly #transports: KubeTransport[] = [];
  #faults: Fault[] = [];
  /** While this is true, whatever would change something is answered with 403. */
  isReadOnly = false;
  #stall: Promise<undefined> | undefined;
  #isLossy = false;
  #lostBytes = 0;

  private constructor(upstream: KubeApiServer) {
    this.#upstream = {
      url: upstream.url,
      agent: new Agent({ connect: upstream.administratorTls, allowH2: false }),
    };
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
  }

  static async start(upstream: KubeApiServer): Promise<FaultyApi> {
    const api = new FaultyApi(upstream);
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  /** A transport that goes through here, by way of a relay in front where one is given. */
  transport(options: TransportOptions = {}, server = this.url): KubeTransport {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: "faulty", server, skipTLSVerify: true }, { name: "faulty" });
    const transport = new KubeTransport(config, options);
    this.#transports.push(transport);
    return transport;
  }

  /** Writes a kubeconfig with which programs go through here; returns its path. */
  kubeconfig(): string {
    const path = join(temporaryFolder("kubeconfig"), "kubeconfig");
    writeFileSync(path, openKubeconfig(this.url));
    return path;
  }

  /** Bytes of watches that were not passed on, see loseEvents. */
  get lostBytes(): number {
    return this.#lostBytes;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** The next request that matches is answered with the status instead of being passed on. */
  respondOnce(
    matches: (request: SeenRequest) => boolean,
    status: number,
    body: object = {},
    headers: Record<string, string> = {},
  ): void {
    this.#injectOnce(matches, (_request, response) => {
      fail(response, status, body, headers);
      return true;
    });
  }

  /**
   * Every request that matches is answered with the status instead of being passed on, until the returned
   * function is called.
   */
  respond(matches: (request: SeenRequest) => boolean, status: number, body: object = {}): () => void {
    let isOver = false;
    this.#faults.push((request, response) => {
      if (isOver || !matches(request)) return false;
      fail(response, status, body);
      return true;
    });
    return () => {
      isOver = true;
    };
  }

  /** The next watch that matches gets this text and then ends. */
  sayOnce(matches: (request: SeenRequest) => boolean, text: string): void {
    this.#injectOnce(matches, (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(text);
      return true;
    });
  }

  /** The next request that matches loses its connection without a response. */
  cutOnce(matches: (request: SeenRequest) => boolean): void {
    this.#injectOnce(matches, (_request, response) => {
      response.destroy();
      return true;
    });
  }

  /**
   * The next request that matches is passed on only once the returned function is called; `arrived` tells it
   * is there.
   */
  holdOnce(matches: (request: SeenRequest) => boolean): { arrived: Promise<undefined>; release: () => void } {
    const arrived = Promise.withResolvers<undefined>();
    const released = Promise.withResolvers<undefined>();
    this.#injectOnce(matches, async () => {
      arrived.resolve(undefined);
      await released.promise;
      return false;
    });
    return { arrived: arrived.promise, release: () => released.resolve(undefined) };
  }

  /**
   * Passes no request on, and ends no watch, until the returned function is called; then those that still
   * wait.
   */
  stall(): () => void {
    const ended = Promise.withResolvers<undefined>();
    this.#stall = ended.promise;
    return () => {
      this.#stall = undefined;
      ended.resolve(undefined);
    };
  }

  /**
   * The next request that matches is carried out, which `carriedOut` tells, but its response comes only once
   * the returned function is called.
   */
  holdResponseOnce(matches: (request: SeenRequest) => boolean): {
    carriedOut: Promise<undefined>;
    release: () => void;
  } {
    const carriedOut = Promise.withResolvers<undefined>();
    const released = Promise.withResolvers<undefined>();
    this.#injectOnce(matches, async (_request, response, incoming) => {
      await this.#passOn(incoming, response, false, async () => {
        carriedOut.resolve(undefined);
        await Promise.race([released.promise, once(response, "close")]);
      });
      return true;
    });
    return { carriedOut: carriedOut.promise, release: () => released.resolve(undefined) };
  }

  /** The next request that matches is carried out, and its connection then lost without a response. */
  loseResponseOnce(matches: (request: SeenRequest) => boolean): void {
    this.#injectOnce(matches, async (_request, response, incoming) => {
      await this.#passOn(incoming, response, false, () => Promise.resolve(void response.destroy()));
      return true;
    });
  }

  /** The next watch that matches opens and then says nothing at all. */
  silenceOnce(matches: (request: SeenRequest) => boolean): void {
    this.#injectOnce(matches, (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      this.#keep(response);
      return true;
    });
  }

  /**
   * From now on watches are not passed on what the server says; false ends it. What was said meanwhile is
   * lost.
   */
  loseEvents(isLossy: boolean): void {
    this.#isLossy = isLossy;
  }

  /** Sends the text down every open watch, as if the server had. */
  sayToWatches(text: string): void {
    for (const { response } of this.#watches) response.write(text);
  }

  /** Ends every open watch in good order. */
  closeWatches(): void {
    for (const { response, abort } of this.#watches) {
      abort.abort();
      response.end();
    }
  }

  /** Cuts the connection of every open watch. */
  cutWatches(): void {
    for (const { response } of this.#watches) response.destroy();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#transports.map((transport) => transport.close()));
    this.#server.closeAllConnections();
    this.#server.close();
    await this.#upstream.agent.destroy();
  }

  /** Where it listens. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  #injectOnce(matches: (request: SeenRequest) => boolean, fault: Fault): void {
    let isSpent = false;
    this.#faults.push((request, response, incoming) => {
      if (isSpent || !matches(request)) return false;
      isSpent = true;
      return fault(request, response, incoming);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://faulty");
    const seen: SeenRequest = {
      method: request.method ?? "GET",
      path: pathname,
      query: searchParams,
      isWatch: searchParams.get("watch") === "true",
    };
    this.requests.push(seen);
    await this.#stall;
    for (const fault of this.#faults) {
      if (await fault(seen, response, request)) return;
    }
    if (this.isReadOnly && seen.method !== "GET") {
      request.resume();
      fail(response, 403);
      return;
    }
    await this.#passOn(request, response, seen.isWatch);
  }

  async #passOn(
    request: IncomingMessage,
    response: ServerResponse,
    isWatch: boolean,
    beforeResponse?: () => Promise<void>,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const abort = new AbortController();
    response.once("close", () => abort.abort());
    const forwarded = await this.#upstream.agent.request({
      origin: this.#upstream.url,
      path: request.url ?? "/",
      method: request.method ?? "GET",
      headers: {
        accept: "application/json",
        "content-type": request.headers["content-type"] ?? "application/json",
      },
      body: chunks.length === 0 ? null : Buffer.concat(chunks),
      signal: abort.signal,
    });
    await beforeResponse?.();
    if (response.destroyed) return;
    response.writeHead(forwarded.statusCode, { "content-type": "application/json" });
    response.flushHeaders();
    if (isWatch) this.#keep(response, abort);
    try {
      for await (const chunk of forwarded.body) {
        if (!isWatch || !this.#isLossy) response.write(chunk);
        else this.#lostBytes += (chunk as Buffer).length;
      }
      response.end();
    } catch (error) {
      if (!abort.signal.aborted) throw error;
    }
  }

  #keep(response: ServerResponse, abort = new AbortController()): void {
    const watch = { response, abort };
    this.#watches.add(watch);
    response.once("close", () => this.#watches.delete(watch));
  }
}

/** Responds as an API server does that carries nothing out. */
function fail(
  response: ServerResponse,
  status: number,
  body: object = {},
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code: status, ...body });
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}
