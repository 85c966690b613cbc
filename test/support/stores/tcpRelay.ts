import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A relay in front of a server of any protocol that can hold back what clients send, or lose it. */
export class TcpRelay {
  /** From a client's bytes to their arrival at the server. */
  delayMs = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: URL) {
    this.#server = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("close", () => this.#sockets.delete(socket));
      }
      client.on("close", () => upstream.destroy());
      upstream.pipe(client);
      client.on("data", (bytes) => {
        if (this.delayMs === 0) upstream.write(bytes);
        else setTimeout(() => upstream.write(bytes), this.delayMs);
      });
    });
  }

  /**
   * Passes nothing on any more over the connections that there are, and closes none of them, as a router that
   * has forgotten them; new ones work.
   */
  stall(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.removeAllListeners("data");
      socket.pause();
    }
  }

  /** Cuts the connections that there are; new ones work. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  static async start(target: string): Promise<TcpRelay> {
    const relay = new TcpRelay(new URL(target));
    relay.#server.listen(0, "127.0.0.1");
    await once(relay.#server, "listening");
    return relay;
  }

  /** Where it listens, as host and port. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}
