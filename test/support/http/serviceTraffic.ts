import { Agent, get } from "node:http";

/** Options of the traffic. */
export interface ServiceTrafficOptions {
  url: string;
  /** URL of the readiness probe. */
  readyUrl: string;
  /** Delay between the kubelet and the sender in noticing that the process is not ready. */
  knownAfterMs: number;
}

const pollMs = 50;

/**
 * Sends requests like a Service, on kept and new connections, until it learns that the process is not ready.
 */
export class ServiceTraffic {
  /** Outcomes of requests that did not get status 200. */
  readonly failures: string[] = [];
  served = 0;
  /** Number of responses that close their connection. */
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

  /** Resolves when the sender has learned of the shutdown and its last request has ended. */
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
