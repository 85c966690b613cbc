import { Agent, request } from "node:http";
import type { BenchPlayer } from "./fixture.ts";

export interface LoadRequest {
  method: "GET" | "POST";
  path: string;
  body?: string;
}

/** A browser's connection: sends one request at a time, with the newest cookie. */
export class LoadClient {
  readonly player: BenchPlayer;
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #cookie: string;

  constructor(player: BenchPlayer, port: number) {
    this.player = player;
    this.#port = port;
    this.#cookie = player.cookie;
  }

  /**
   * Sends the request and returns the response body.
   *
   * @throws Unless the status is 200.
   */
  send({ method, path, body }: LoadRequest): Promise<string> {
    const headers = {
      cookie: this.#cookie,
      ...(body !== undefined && {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        { host: "127.0.0.1", port: this.#port, agent: this.#agent, method, path, headers },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.once("end", () => {
            const text = Buffer.concat(chunks).toString();
            this.#cookie = response.headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? this.#cookie;
            if (response.statusCode === 200) resolve(text);
            else reject(new Error(`${method} ${path} was answered with ${response.statusCode}: ${text}`));
          });
        },
      );
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/**
 * Sends `count` requests as fast as the clients can together. Each client waits for a response before its
 * next request.
 */
export async function sendAll(
  clients: readonly LoadClient[],
  total: number,
  requestOf: (player: BenchPlayer) => LoadRequest,
): Promise<void> {
  let left = total;
  await Promise.all(
    clients.map(async (client) => {
      while (left > 0) {
        left -= 1;
        await client.send(requestOf(client.player));
      }
    }),
  );
}
