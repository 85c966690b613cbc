import { createServer, type IncomingMessage, type Server } from "node:http";

export interface SeenRequest {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
}

/** A fake streamer at a pod's loopback address. It records requests and responds as configured. */
export class FakeStreamer {
  readonly #server: Server;
  seen: SeenRequest[] = [];
  response: { status: number; headers: Record<string, string>; body: string } = FakeStreamer.#sdpAnswer();
  /** Delays responses until this resolves. */
  hold: Promise<undefined> | undefined;
  /** Requests whose sender did not wait for the response. */
  leavers = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.seen.push({
          method: request.method,
          url: request.url,
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        });
        void (this.hold ?? Promise.resolve(undefined)).then(() =>
          response.writeHead(this.response.status, this.response.headers).end(this.response.body),
        );
      });
      response.on("close", () => {
        if (!response.writableEnded) this.leavers++;
      });
    });
  }

  /** All pods' streamers use the same port. */
  static async at(podIp: string): Promise<FakeStreamer> {
    const streamer = new FakeStreamer();
    await new Promise<void>((resolve, reject) =>
      streamer.#server.once("error", reject).listen(8080, podIp, resolve),
    );
    return streamer;
  }

  /** Clears the records and accepts every offer from now on. */
  reset(): void {
    this.seen = [];
    this.response = FakeStreamer.#sdpAnswer();
    this.hold = undefined;
    this.leavers = 0;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  static #sdpAnswer(): FakeStreamer["response"] {
    return {
      status: 201,
      headers: { "content-type": "application/sdp", location: "/whep/connection-1" },
      body: "v=0 answer",
    };
  }
}
