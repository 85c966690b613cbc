import { KubeConfig } from "@kubernetes/client-node";
import type { Dispatcher } from "undici";
import { type Clock, systemClock } from "#runtime/scheduling/clock.ts";
import { untilAborted, withDeadline } from "#runtime/scheduling/deadline.ts";
import { Authentication } from "./authentication.ts";
import { KubeError } from "../api/errors.ts";
import { attachToCommand, type AttachedCommand } from "./podAttach.ts";
import { execInPod, type PodCommand } from "./podExec.ts";
import { readLines, readText } from "./lines.ts";
import type { KubeRequest, RequestMetrics, WatchRequest } from "./request.ts";
import { responseError, transportError, retryDelayMs } from "./responseError.ts";

/** Time within which the server confirms a watch; a dead connection never does. */
const openingMs = 10_000;

/** Options of a transport. */
export interface TransportOptions {
  /** Time limit of a call including retries. Defaults to 30 s. */
  deadlineMs?: number | undefined;
  /** Attempts per call. Defaults to 5. */
  maxAttempts?: number | undefined;
  /** Name of the program in the API server's audit log. */
  userAgent?: string | undefined;
  /** HTTP proxy to use if the kubeconfig names none. Proxy variables of the environment are ignored. */
  proxyUrl?: string | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
  metrics?: RequestMetrics | undefined;
}

/** Sends requests to an API server over a connection pool. Throws KubeError or the caller's abort reason. */
export class KubeTransport {
  readonly #config: KubeConfig;
  readonly #authentication: Authentication;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #deadlineMs: number;
  readonly #maxAttempts: number;
  readonly #userAgent: string;
  readonly #metrics: RequestMetrics | undefined;
  #clockOffsetMs: number | undefined;

  constructor(config: KubeConfig, options: TransportOptions = {}) {
    this.#config = config;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#deadlineMs = options.deadlineMs ?? 30_000;
    this.#maxAttempts = options.maxAttempts ?? 5;
    this.#userAgent = options.userAgent ?? "joypod-kube";
    this.#metrics = options.metrics;
    this.#authentication = new Authentication(config, this.#clock, options.proxyUrl);
  }

  /** Creates a transport from a kubeconfig file, with its current context or the given one. */
  static fromFile(
    path: string,
    options: TransportOptions & { context?: string | undefined } = {},
  ): KubeTransport {
    const config = new KubeConfig();
    config.loadFromFile(path);
    if (options.context !== undefined) config.setCurrentContext(options.context);
    return new KubeTransport(config, options);
  }

  /** Creates a transport from the pod's service account. */
  static inCluster(options: TransportOptions = {}): KubeTransport {
    const config = new KubeConfig();
    config.loadFromCluster();
    return new KubeTransport(config, options);
  }

  /** Creates a transport from KUBECONFIG, else ~/.kube/config, else the pod's service account. */
  static fromDefault(options: TransportOptions = {}): KubeTransport {
    const config = new KubeConfig();
    config.loadFromDefault();
    return new KubeTransport(config, options);
  }

  /**
   * Minimum offset of the local clock from the API server's in milliseconds, positive if the local clock is
   * ahead, by the last response; undefined before the first.
   */
  get clockOffsetMs(): number | undefined {
    return this.#clockOffsetMs;
  }

  /** Returns the namespace of the kubeconfig's context or the pod. Defaults to "default". */
  get namespace(): string {
    return this.#config.getContextObject(this.#config.getCurrentContext())?.namespace ?? "default";
  }

  /**
   * Sends a request, retries it if that is safe, and returns the JSON of the response. Throws KubeError or
   * the caller's abort reason.
   */
  async request(request: KubeRequest): Promise<unknown> {
    const deadlineMs = request.deadlineMs ?? this.#deadlineMs;
    const endsAtMs = this.#clock.monotonicMs() + deadlineMs;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(request, Math.max(1, endsAtMs - this.#clock.monotonicMs()));
      } catch (error) {
        if (attempt >= this.#maxAttempts) throw error;
        const waitMs = retryDelayMs(request, error, attempt, this.#random);
        if (waitMs === undefined || this.#clock.monotonicMs() + waitMs >= endsAtMs) throw error;
        await this.#clock.sleep(waitMs, request.signal);
      }
    }
  }

  /**
   * Opens a watch and yields its lines. Ends when the server closes it normally; throws when it is refused,
   * interrupted, silent for the idle deadline, or aborted. It is not retried, because only the reader knows
   * where to resume.
   */
  async *watch({
    path,
    query,
    idleDeadlineMs,
    onOpened,
    signal,
    resource,
  }: WatchRequest): AsyncGenerator<string, void, void> {
    const request: KubeRequest = { method: "GET", path, query, signal, resource };
    // Always aborted at the end, so that no stream outlives its reader.
    const stream = new AbortController();
    const onAbort = (): void => stream.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const response = await withDeadline(
        {
          clock: this.#clock,
          ms: Math.min(this.#deadlineMs, openingMs),
          what: `Opening the watch of ${path}`,
        },
        (opening) => {
          opening.addEventListener("abort", () => stream.abort(opening.reason), { once: true });
          return this.#send(request, stream.signal, idleDeadlineMs);
        },
      );
      if (response.statusCode !== 200) throw await responseError(response, this.#clock);
      onOpened?.();
      yield* readLines(response.body);
    } catch (error) {
      throw transportError(error, `Watching ${path}`, signal);
    } finally {
      signal?.removeEventListener("abort", onAbort);
      stream.abort();
    }
  }

  /**
   * Runs a command in a container and returns its standard output. It is not retried. Throws KubeError or the
   * signal's reason.
   */
  async exec(command: PodCommand): Promise<Buffer> {
    return execInPod(this.#authentication.server, await this.#authentication.credentials(), command);
  }

  /**
   * Runs a command in a container with the caller's streams and returns its exit code. It is not retried.
   * Throws KubeError or the signal's reason.
   */
  async attach(command: AttachedCommand): Promise<number> {
    return attachToCommand(this.#authentication.server, await this.#authentication.credentials(), command);
  }

  /** Closes all connections permanently. Running and later requests and watches fail. */
  async close(): Promise<void> {
    await this.#authentication.close();
  }

  async #attempt(request: KubeRequest, ms: number): Promise<unknown> {
    const what = `${request.method} ${request.path}`;
    try {
      return await withDeadline({ clock: this.#clock, ms, what, signal: request.signal }, async (signal) => {
        const response = await this.#send(request, signal, ms);
        if (response.statusCode === 401) this.#authentication.refresh();
        if (response.statusCode < 200 || response.statusCode > 299)
          throw await responseError(response, this.#clock);
        const text = await readText(response.body);
        try {
          return text === "" ? undefined : (JSON.parse(text) as unknown);
        } catch (cause) {
          throw new KubeError({
            reason: "MalformedResponse",
            message: `${what}: the response is not JSON.`,
            cause,
          });
        }
      });
    } catch (error) {
      throw transportError(error, what, request.signal);
    }
  }

  async #send(
    request: KubeRequest,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<Dispatcher.ResponseData> {
    const { dispatcher, headers } = await this.#authentication.credentials();
    const startedMs = this.#clock.monotonicMs();
    const sentAt = this.#clock.now();
    let status: number | undefined;
    try {
      // A request that waits for a connection does not react to its signal until it has one.
      const response = await untilAborted(
        dispatcher.request({
          origin: originOf(this.#authentication.server),
          path: pathOf(this.#authentication.server, request),
          method: request.method,
          headers: {
            ...headers,
            accept: "application/json",
            "user-agent": this.#userAgent,
            ...(request.body === undefined
              ? {}
              : { "content-type": request.contentType ?? "application/json" }),
          },
          body: request.body === undefined ? null : JSON.stringify(request.body),
          signal,
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
        }),
        signal,
      );
      status = response.statusCode;
      this.#clockOffsetMs =
        clockOffset(response.headers["date"], sentAt, this.#clock.now()) ?? this.#clockOffsetMs;
      return response;
    } finally {
      const seconds = (this.#clock.monotonicMs() - startedMs) / 1000;
      this.#metrics?.requestDone({
        method: request.method,
        resource: request.resource ?? "",
        status,
        seconds,
      });
    }
  }
}

function originOf(server: string): string {
  return new URL(server).origin;
}

function pathOf(server: string, { path, query }: KubeRequest): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const base = new URL(server).pathname.replace(/\/+$/, "");
  return parameters.size === 0 ? `${base}${path}` : `${base}${path}?${parameters.toString()}`;
}

/** Resolution of Date headers. */
const dateUnitMs = 1_000;

/**
 * Returns the minimum offset of the local clock from the one that wrote the Date header in milliseconds,
 * negative if the local clock is behind. The header was written between sending and receiving. Undefined
 * without a date.
 */
export function clockOffset(
  date: string | string[] | undefined,
  sentAt: Date,
  receivedAt: Date,
): number | undefined {
  const writtenMs = typeof date === "string" ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(writtenMs)) return undefined;
  const aheadMs = sentAt.getTime() - (writtenMs + dateUnitMs);
  const behindMs = writtenMs - receivedAt.getTime();
  return aheadMs > 0 ? aheadMs : -Math.max(0, behindMs);
}
