import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A TCP relay in front of any server that can delay or drop what clients send, or reset a connection. */
export class TcpRelay {
  /** Delay of a client's bytes on their way to the server. */
  delayMs = 0;
  /** How many connections were reset. */
  resets = 0;
  #bytesUntilReset = Infinity;
  #responseBytesUntilReset = Infinity;
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
      upstream.on("data", (bytes) => {
        this.#responseBytesUntilReset -= bytes.length;
        if (this.#responseBytesUntilReset > 0) return;
        this.#responseBytesUntilReset = Infinity;
        this.resets += 1;
        client.resetAndDestroy();
      });
      client.on("data", (bytes) => {
        this.#bytesUntilReset -= bytes.length;
        if (this.#bytesUntilReset <= 0) {
          this.#bytesUntilReset = Infinity;
          this.resets += 1;
          client.resetAndDestroy();
        } else if (this.delayMs === 0) upstream.write(bytes);
        else setTimeout(() => upstream.write(bytes), this.delayMs);
      });
    });
  }

  /**
   * Silently drops all data of the existing connections without closing them, like a router that has lost its
   * state. New connections work.
   */
  stall(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.removeAllListeners("data");
      socket.pause();
    }
  }

  /** Resets the connection on which the clients send the last of so many bytes. Other connections work. */
  resetAfter(bytes: number): void {
    this.#bytesUntilReset = bytes;
  }

  /** The same for the bytes that the server sends. */
  resetResponseAfter(bytes: number): void {
    this.#responseBytesUntilReset = bytes;
  }

  /** Closes the existing connections. New connections work. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  static async start(target: string): Promise<TcpRelay> {
    const relay = new TcpRelay(new URL(target));
    relay.#server.listen(0, "127.0.0.1");
    await once(relay.#server, "listening");
    return relay;
  }

  /** Host and port on which it listens. */
  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}
