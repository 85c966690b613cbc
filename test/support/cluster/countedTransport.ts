import { KubeConfig } from "@kubernetes/client-node";
import type { KubeRequest, WatchRequest } from "#kube/client/request.ts";
import { KubeTransport, type TransportOptions } from "#kube/client/transport.ts";

/** A write that reached the API server. */
export interface Write {
  method: string;
  path: string;
  body: unknown;
  /** Size of the body. */
  bytes: number;
}

/** Long enough on this machine for the server to send pending events. */
const quietMs = 100;

/**
 * A real transport that records its writes, and whose process can be made to crash right after the nth one.
 */
export class CountedTransport extends KubeTransport {
  readonly writes: Write[] = [];
  /** Number of relevant writes after which it crashes. Their responses are lost. */
  diesAfterWrites = Number.POSITIVE_INFINITY;
  #isDead = false;
  #underWay = 0;
  /** Functions that end the open watches. */
  readonly #watches = new Set<() => void>();
  readonly #matters: (write: Write) => boolean;

  constructor(
    kubeconfigPath: string,
    matters: (write: Write) => boolean = () => true,
    options: TransportOptions = {},
  ) {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigPath);
    super(config, options);
    this.#matters = matters;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Number of pending requests, without watches. */
  get underWay(): number {
    return this.#underWay;
  }

  override async request(request: KubeRequest): Promise<unknown> {
    this.#underWay++;
    try {
      return await this.#counted(request);
    } finally {
      this.#underWay--;
    }
  }

  async #counted(request: KubeRequest): Promise<unknown> {
    if (this.#isDead) throw new Error("The process is dead.");
    const response = await super.request(request);
    const write = {
      method: request.method,
      path: request.path,
      body: request.body,
      bytes: JSON.stringify(request.body ?? "").length,
    };
    if (request.method !== "GET" && this.#matters(write)) {
      this.writes.push(write);
      if (this.writes.length >= this.diesAfterWrites) this.#isDead = true;
    }
    if (this.isDead) throw new Error("The process is dead.");
    return response;
  }

  override async *watch(request: WatchRequest): AsyncGenerator<string, void, void> {
    const end = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const endWhenQuiet = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => end.abort(), quietMs);
    };
    this.#watches.add(endWhenQuiet);
    try {
      const signal = request.signal ? AbortSignal.any([request.signal, end.signal]) : end.signal;
      for await (const line of super.watch({ ...request, signal })) {
        if (this.#isDead) throw new Error("The process is dead.");
        if (timer) endWhenQuiet();
        yield line;
      }
    } catch (error) {
      if (!end.signal.aborted) throw error;
    } finally {
      clearTimeout(timer);
      this.#watches.delete(endWhenQuiet);
    }
  }

  /**
   * Ends the open watches gracefully, like the server after its timeout, once they have delivered pending
   * events.
   */
  endWatches(): void {
    for (const endWhenQuiet of this.#watches) endWhenQuiet();
  }
}
