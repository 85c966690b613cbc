import { Agent, get } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** A response. */
interface Answered {
  status: number | undefined;
  /** True if the server accepts no more requests on this connection. */
  isLast: boolean;
}

/** A client that sends all its requests on one kept connection. */
export class KeptConnection {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  /** Sends a request. Rejects if the connection ends without a response. */
  ask(): Promise<Answered> {
    return new Promise((resolve, reject) => {
      get(this.#url, { agent: this.#agent }, (response) => {
        response
          .on("error", reject)
          .resume()
          .on("end", () =>
            resolve({ status: response.statusCode, isLast: response.headers.connection === "close" }),
          );
      }).on("error", reject);
    });
  }

  /** Sends nothing for this time. */
  async pause(milliseconds: number): Promise<void> {
    await delay(milliseconds);
  }
}
