import { KubeConfig } from "@kubernetes/client-node";
import type { KubeRequest, WatchRequest } from "#kube/request.ts";
import { KubeTransport, type TransportOptions } from "#kube/transport.ts";

/** A write that reached the API server. */
export interface Write {
  method: string;
  path: string;
  /** Of its body. */
  bytes: number;
}

/** A real transport that notes its writes, and whose process can be made to die right after the nth of them. */
export class CountedTransport extends KubeTransport {
  readonly writes: Write[] = [];
  /** Dies when so many writes that matter have been carried out; their responses are lost. */
  diesAfterWrites = Number.POSITIVE_INFINITY;
  #isDead = false;
  #underWay = 0;
  readonly #matters: (write: Write) => boolean;

  constructor(kubeconfigPath: string, matters: (write: Write) => boolean = () => true, options: TransportOptions = {}) {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfigPath);
    super(config, options);
    this.#matters = matters;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Requests that wait for their response, watches aside. */
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
    const write = { method: request.method, path: request.path, bytes: JSON.stringify(request.body ?? "").length };
    if (request.method !== "GET" && this.#matters(write)) {
      this.writes.push(write);
      if (this.writes.length >= this.diesAfterWrites) this.#isDead = true;
    }
    if (this.isDead) throw new Error("The process is dead.");
    return response;
  }

  override async *watch(request: WatchRequest): AsyncGenerator<string, void, void> {
    for await (const line of super.watch(request)) {
      if (this.#isDead) throw new Error("The process is dead.");
      yield line;
    }
  }
}
