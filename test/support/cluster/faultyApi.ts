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

/** A received request. */
export interface SeenRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  isWatch: boolean;
}

/** An open watch of a client. */
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
 * A proxy of a real API server that forwards requests as the administrator, and injects faults of networks,
 * load balancers and overloaded servers.
 */
export class FaultyApi {
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  readonly #upstream: { url: string; agent: Agent };
  readonly #watches = new Set<OpenWatch>();
  readonly #transports: KubeTransport[] = [];
  #faults: Fault[] = [];
  /** If true, writes get 403. */
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

  /** Returns a transport through this proxy, optionally through a relay in front of it. */
  transport(options: TransportOptions = {}, server = this.url): KubeTransport {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: "faulty", server, skipTLSVerify: true }, { name: "faulty" });
    const transport = new KubeTransport(config, options);
    this.#transports.push(transport);
    return transport;
  }

  /** Writes a kubeconfig for this proxy, and returns its path. */
  kubeconfig(): string {
    const path = join(temporaryFolder("kubeconfig"), "kubeconfig");
    writeFileSync(path, openKubeconfig(this.url));
    return path;
  }

  /** Bytes of watches that were dropped, see loseEvents. */
  get lostBytes(): number {
    return this.#lostBytes;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Responds to the next matching request with the status instead of forwarding it. */
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
   * Responds to every matching request with the status instead of forwarding it, until the returned function
   * is called.
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

  /** Sends this text to the next matching watch, and then ends it. */
  sayOnce(matches: (request: SeenRequest) => boolean, text: string): void {
    this.#injectOnce(matches, (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(text);
      return true;
    });
  }

  /** Closes the connection of the next matching request without a response. */
  cutOnce(matches: (request: SeenRequest) => boolean): void {
    this.#injectOnce(matches, (_request, response) => {
      response.destroy();
      return true;
    });
  }

  /**
   * Holds the next matching request until `release` is called. `arrived` resolves when the request arrives.
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
   * Forwards no requests and ends no watches until the returned function is called, which forwards those
   * still waiting.
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
   * Forwards the next matching request, after which `carriedOut` resolves, but holds its response until the
   * returned function is called.
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

  /** Forwards the next matching request, and then closes its connection without a response. */
  loseResponseOnce(matches: (request: SeenRequest) => boolean): void {
    this.#injectOnce(matches, async (_request, response, incoming) => {
      await this.#passOn(incoming, response, false, () => Promise.resolve(void response.destroy()));
      return true;
    });
  }

  /** Opens the next matching watch, but never sends anything on it. */
  silenceOnce(matches: (request: SeenRequest) => boolean): void {
    this.#injectOnce(matches, (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      this.#keep(response);
      return true;
    });
  }

  /** Drops all events of watches while `isLossy` is true. Dropped events are lost. */
  loseEvents(isLossy: boolean): void {
    this.#isLossy = isLossy;
  }

  /** Sends the text on every open watch, as if it came from the server. */
  sayToWatches(text: string): void {
    for (const { response } of this.#watches) response.write(text);
  }

  /** Ends every open watch gracefully. */
  closeWatches(): void {
    for (const { response, abort } of this.#watches) {
      abort.abort();
      response.end();
    }
  }

  /** Closes the connection of every open watch. */
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

/** Sends an error response without forwarding the request. */
function fail(
  response: ServerResponse,
  status: number,
  body: object = {},
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code: status, ...body });
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}
