import { Agent, get } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

/** What a client was answered. */
interface Answered {
  status: number | undefined;
  /** The server takes no more requests on this connection. */
  isLast: boolean;
}

/** A client that asks over one connection, which it keeps. */
export class KeptConnection {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  /** Rejects when the connection ends without a response. */
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

  /** Asks nothing for so long. */
  async pause(milliseconds: number): Promise<void> {
    await delay(milliseconds);
  }
}
