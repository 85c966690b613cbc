import { createHash } from "node:crypto";
import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { Agent, ProxyAgent, type Dispatcher } from "undici";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";

/** Connections and credentials of a request. */
export interface Credentials {
  dispatcher: Dispatcher;
  headers: Record<string, string>;
}

/** Interval at which certificates and tokens are read again to notice rotation. */
const refreshMs = 10_000;
/** Requests and watches that started with a former certificate have ended by then. */
const replacedMs = 120_000;
const connections = 128;
const connectTimeoutMs = 10_000;
/** Idle timeout of connections. The API server closes them after 90 s. */
const keepAliveTimeoutMs = 60_000;

type HttpsOptions = Pick<
  RequestOptions,
  "ca" | "cert" | "key" | "pfx" | "passphrase" | "rejectUnauthorized" | "servername" | "headers" | "auth"
>;

/**
 * client-node's authentication (client certificates, token files, exec plugins, in-cluster) over ONE
 * connection pool: client-node itself opens a TLS connection per call. The pool is replaced when CA or client
 * certificate change.
 */
export class Authentication {
  readonly #config: KubeConfig;
  readonly #clock: Clock;
  readonly #proxyUrl: string | undefined;
  #pool: { key: string; dispatcher: Dispatcher } | undefined;
  /** Pools of former certificates, with the timers that close them. */
  readonly #replaced = new Map<Dispatcher, Timer>();
  #isClosed = false;
  #current: { credentials: Credentials; readAtMs: number } | undefined;

  /** Proxy to use if the kubeconfig names none. */
  constructor(config: KubeConfig, clock: Clock, proxyUrl?: string) {
    this.#config = config;
    this.#clock = clock;
    this.#proxyUrl = proxyUrl;
  }

  /** The API server's URL, without a trailing slash. */
  get server(): string {
    const cluster = this.#config.getCurrentCluster();
    if (!cluster) throw new Error("The kubeconfig has no current cluster; set current-context.");
    return cluster.server.replace(/\/+$/, "");
  }

  /** Returns the credentials for the next request. */
  async credentials(): Promise<Credentials> {
    this.#assertOpen();
    const now = this.#clock.monotonicMs();
    if (this.#current && now - this.#current.readAtMs < refreshMs) return this.#current.credentials;
    const options: HttpsOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    // This may have been closed while a plugin was running. No connection is opened after that.
    this.#assertOpen();
    const credentials = { dispatcher: this.#dispatcherFor(options), headers: headersOf(options) };
    this.#current = { credentials, readAtMs: now };
    return credentials;
  }

  /** Reads files and plugins again at the next request, for example after a 401. */
  refresh(): void {
    this.#current = undefined;
  }

  /** Closes all connections permanently. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#replaced.values()) timer.cancel();
    const pools = [...this.#replaced.keys(), ...(this.#pool === undefined ? [] : [this.#pool.dispatcher])];
    this.#replaced.clear();
    this.#pool = undefined;
    this.#current = undefined;
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #dispatcherFor(options: HttpsOptions): Dispatcher {
    const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
    const tls = definedOnly({ ca, cert, key, pfx, passphrase, rejectUnauthorized, servername });
    const poolKey = fingerprint(tls);
    if (this.#pool?.key === poolKey) return this.#pool.dispatcher;
    if (this.#pool !== undefined) this.#retire(this.#pool.dispatcher);
    const dispatcher = createDispatcher(this.#config.getCurrentCluster()?.proxyUrl ?? this.#proxyUrl, tls);
    this.#pool = { key: poolKey, dispatcher };
    return dispatcher;
  }

  /**
   * Running requests and watches finish on the old connections. The pool is not closed yet, because a closed
   * pool cannot be destroyed.
   */
  #retire(pool: Dispatcher): void {
    const timer = this.#clock.setTimer(replacedMs, () => {
      this.#replaced.delete(pool);
      void pool.destroy().catch(() => undefined);
    });
    this.#replaced.set(pool, timer);
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error("The transport is closed.");
  }
}

function createDispatcher(proxyUrl: string | undefined, tls: Record<string, unknown>): Dispatcher {
  if (proxyUrl?.startsWith("socks"))
    throw new Error(
      `The proxy ${proxyUrl} is a SOCKS proxy; name an HTTP proxy as the kubeconfig's proxy-url.`,
    );
  const pool = {
    connections,
    pipelining: 1,
    keepAliveTimeout: keepAliveTimeoutMs,
    keepAliveMaxTimeout: keepAliveTimeoutMs,
    // A slow watch must not block the flow control window of all other requests.
    allowH2: false,
  };
  const connect = { ...tls, timeout: connectTimeoutMs, keepAlive: true, keepAliveInitialDelay: 30_000 };
  return proxyUrl === undefined
    ? new Agent({ ...pool, connect })
    : new ProxyAgent({ ...pool, uri: proxyUrl, requestTls: connect });
}

function headersOf({ headers, auth }: HttpsOptions): Record<string, string> {
  const named: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value !== undefined) named[name.toLowerCase()] = String(value);
  }
  if (typeof auth === "string") named.authorization = `Basic ${Buffer.from(auth).toString("base64")}`;
  return named;
}

function definedOnly(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function fingerprint(tls: Record<string, unknown>): string {
  const hash = createHash("sha256");
  for (const [name, value] of Object.entries(tls)) hash.update(`${name}=${String(value)}\n`);
  return hash.digest("base64");
}
