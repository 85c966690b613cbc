import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { checkAgainstDocument } from "../openapi/documentCheck.ts";
import { responsesIn } from "./rawResponses.ts";

/** A client that writes raw bytes, for invalid or slow HTTP. */
export class RawClient {
  readonly #socket: Socket;
  readonly #closed: Promise<unknown>;
  #received = "";
  #written = "";

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#closed = new Promise((resolve) => socket.once("close", resolve));
    socket.on("data", (bytes: Buffer) => (this.#received += bytes.toString("latin1")));
    socket.on("error", () => undefined); // Being cut is what these clients are for.
  }

  static async connect(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    const client = new RawClient(socket);
    await once(socket, "connect");
    return client;
  }

  get received(): string {
    return this.#received;
  }

  get isClosed(): boolean {
    return this.#socket.closed;
  }

  write(text: string | Buffer): void {
    this.#written += typeof text === "string" ? text : text.toString("latin1");
    if (this.#socket.writable) this.#socket.write(text);
  }

  /**
   * Sends bytes of a body without reading responses.
   *
   * @throws If the connection is closed before they are sent.
   */
  async sendBody(bytes: Buffer): Promise<void> {
    this.pause();
    const sent = new Promise<boolean>((resolve) => this.#socket.write(bytes, (error) => resolve(!error)));
    const isSent = await Promise.race([sent, this.#closed.then(() => false)]);
    if (!isSent || this.#socket.destroyed)
      throw new Error("The server cut the connection while the client sent its body.");
    this.resume();
  }

  /** Stops reading. */
  pause(): void {
    this.#socket.pause();
  }

  /** Returns the unread bytes from the server in the kernel's buffers at both ends. */
  unread(): number {
    const { localPort = 0, remotePort = 0 } = this.#socket;
    const rows = readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .map((row) => row.trim().split(/\s+/));
    const port = (address = "") => Number.parseInt(address.split(":")[1] ?? "", 16);
    const queued = (from: number, to: number): number[] => {
      const row = rows.find(([, local, remote]) => port(local) === from && port(remote) === to);
      return (row?.[4] ?? "0:0").split(":").map((bytes) => Number.parseInt(bytes, 16));
    };
    return (queued(remotePort, localPort)[0] ?? 0) + (queued(localPort, remotePort)[1] ?? 0);
  }

  /** Resumes reading. */
  resume(): void {
    this.#socket.resume();
  }

  /** Writes the pieces with pauses between them, until the connection is closed. */
  async trickle(pieces: Iterable<string | Buffer>, pauseMs: number): Promise<void> {
    for (const piece of pieces) {
      if (this.isClosed) return;
      this.write(piece);
      await Promise.race([this.#closed, new Promise((resolve) => setTimeout(resolve, pauseMs))]);
    }
  }

  /**
   * Returns everything received once the server has closed the connection.
   *
   * @throws If it does not match the interface document.
   */
  async untilClosed(): Promise<string> {
    await this.#closed;
    this.#checkResponses();
    return this.#received;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** A response to an invalid or surplus request must be the server's own error response. */
  #checkResponses(): void {
    const requests = [...this.#written.matchAll(/^([A-Z]+) (?:http:\/\/[^/\s]+)?(\/\S*) HTTP\/1\.1\r$/gm)];
    const responses = responsesIn(
      this.#received,
      requests.map(([, method = ""]) => method),
    );
    responses.forEach(({ isWhole, ...response }, index) => {
      const [, method = "", path = ""] = requests[index] ?? [];
      if (isWhole) checkAgainstDocument({ method, path, ...response });
    });
  }
}

/** Returns the head of a request, for example of `PUT /path`, with these headers. */
export function requestHead(methodAndPath: string, headers: Record<string, string>): string {
  return `${methodAndPath} HTTP/1.1\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;
}

/**
 * Sends a head and its whole body before reading, like many libraries. Returns everything received until the
 * server closes the connection.
 */
export async function sendThenRead(url: string, head: string, body: Buffer): Promise<string> {
  const client = await RawClient.connect(url);
  client.write(head);
  await client.sendBody(body);
  return client.untilClosed();
}

/** Sends a text, and returns everything received until the server closes the connection. */
export async function exchange(url: string, text: string | Buffer): Promise<string> {
  const client = await RawClient.connect(url);
  client.write(text);
  return client.untilClosed();
}
