import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { TestSdpAnswer } from "#contracts/connectionTest.ts";
import { ChildProgram, freePort, freeUdpPort } from "../processes/childProgram.ts";
import { repositoryRoot } from "../processes/programs.ts";
import { openBottleneck, type Bottleneck } from "./bottleneck.ts";
import { responderKey, type ResponderKey } from "./responderKey.ts";

export interface TestResponderOptions {
  env?: Record<string, string>;
}

/** The program that answers connection tests, as on a game node, behind a path that can be degraded. */
export class TestResponder {
  /** Configuration of an API that uses this responder. */
  readonly apiEnv: Record<string, string>;
  /** Its address without the path. */
  readonly url: string;
  readonly signingKey: ResponderKey["signingKey"];
  /** The path between pages and its UDP port. */
  readonly way: Bottleneck;
  readonly #program: ChildProgram;
  readonly #front: Server;

  private constructor(
    parts: Pick<TestResponder, "apiEnv" | "url" | "signingKey" | "way">,
    program: ChildProgram,
    front: Server,
  ) {
    ({ apiEnv: this.apiEnv, url: this.url, signingKey: this.signingKey, way: this.way } = parts);
    this.#program = program;
    this.#front = front;
  }

  static async start({ env = {} }: TestResponderOptions = {}): Promise<TestResponder> {
    const key = responderKey();
    const [port, udpPort] = [await freePort(), await freeUdpPort()];
    const url = `http://127.0.0.1:${port}`;
    const program = new ChildProgram({
      command: process.execPath,
      args: [join(repositoryRoot, "session/streamer/src/connectionTest/main.ts")],
      env: {
        PATH: process.env.PATH,
        SIGNAL_PORT: String(port),
        UDP_PORT: String(udpPort),
        NODE_NAME: "node1",
        HOST_IPS: "127.0.0.1",
        ...key.responderEnv,
        ...env,
      },
      isReady: async () => (await fetch(`${url}/readyz`)).ok,
      install: "it is the Node that runs the tests",
    });
    await program.start();
    const way = await openBottleneck(udpPort);
    const front = await serveFront(url, way.port);
    const address = front.address();
    const frontPort = typeof address === "object" && address ? address.port : 0;
    const apiEnv = { CONNECTION_TEST_URL: `http://127.0.0.1:${frontPort}`, ...key.apiEnv };
    return new TestResponder({ apiEnv, url, signingKey: key.signingKey, way }, program, front);
  }

  /** Stops the program, as on a node that disappears. */
  async stopProgram(): Promise<void> {
    await this.#program.stop();
  }

  async stop(): Promise<void> {
    this.#front.close();
    this.#front.closeAllConnections();
    this.way.close();
    await this.#program.stop();
  }
}

/** Forwards requests. Replaces the responder's port in answers with the path's. */
async function serveFront(url: string, udpPort: number): Promise<Server> {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const upstream = await fetch(url + (request.url ?? ""), {
        method: request.method ?? "GET",
        headers: { authorization: request.headers.authorization ?? "" },
        body: Buffer.concat(chunks),
      });
      const body: unknown = await upstream.json();
      response
        .writeHead(upstream.status, { "content-type": "application/json" })
        .end(JSON.stringify(upstream.status === 201 ? { ...TestSdpAnswer.parse(body), udpPort } : body));
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
