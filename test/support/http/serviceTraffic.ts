import { Agent, get } from "node:http";

/** Where requests go, and how the sender knows whether to send them. */
export interface ServiceTrafficOptions {
  url: string;
  /** What the kubelet would ask. */
  readyUrl: string;
  /** How much later than the kubelet the sender learns that the process takes no more requests. */
  knownAfterMs: number;
}

const pollMs = 50;

/**
 * A stream of requests as a Service sends them: over kept and over new connections, until it has heard that
 * the process is not ready.
 */
export class ServiceTraffic {
  /** What became of requests that were not answered with 200. */
  readonly failures: string[] = [];
  served = 0;
  /** Responses that end their connection. */
  closing = 0;
  readonly #options: ServiceTrafficOptions;
  readonly #kept = new Agent({ keepAlive: true, maxSockets: 4 });
  readonly #running: Promise<unknown>;
  #isOver = false;

  constructor(options: ServiceTrafficOptions) {
    this.#options = options;
    this.#running = Promise.all([
      this.#followReadiness(),
      this.#send(this.#kept),
      this.#send(this.#kept),
      this.#send(new Agent({ keepAlive: false })),
    ]);
  }

  /** Resolves when the sender has heard of the process' end, and its last request has ended. */
  async stop(): Promise<void> {
    await this.#running;
    this.#kept.destroy();
  }

  async #followReadiness(): Promise<void> {
    while (!this.#isOver) {
      const isReady = await fetch(this.#options.readyUrl).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isReady) await new Promise((resolve) => setTimeout(resolve, pollMs));
      else {
        await new Promise((resolve) => setTimeout(resolve, this.#options.knownAfterMs));
        this.#isOver = true;
      }
    }
  }

  async #send(agent: Agent): Promise<void> {
    while (!this.#isOver) await this.#sendOne(agent);
  }

  #sendOne(agent: Agent): Promise<void> {
    return new Promise((resolve) => {
      const fail = (what: string): void => {
        this.failures.push(what);
        resolve();
      };
      get(`${this.#options.url}/healthz`, { agent }, (response) => {
        if (response.statusCode !== 200) {
          fail(`status ${String(response.statusCode)}`);
          return;
        }
        if (agent === this.#kept && response.headers.connection === "close") this.closing++;
        response.on("error", (error) => fail(error.message));
        response.resume().on("end", () => {
          this.served++;
          resolve();
        });
      }).on("error", (error) => fail(error.message));
    });
  }
}
