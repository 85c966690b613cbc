import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { KubeTransport } from "#kube/client/transport.ts";
import { messageOf } from "#runtime/errors.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

/** What the API server sends for a command: the number of a stream and its bytes. */
type Reply = readonly (readonly [stream: number, text: string])[];

const success: Reply[number] = [3, JSON.stringify({ status: "Success" })];

describe("KubeTransport.exec", () => {
  let server: Server;
  let transport: KubeTransport;
  let seen: { url: string; token: string | undefined } | undefined;
  let reply: Reply;

  before(async () => {
    server = createServer((_request, response) => response.writeHead(403).end());
    server.on("upgrade", ({ url, headers }, socket) => {
      seen = { url: url ?? "", token: headers.authorization };
      socket.write(
        [
          "HTTP/1.1 101 Switching Protocols",
          "Upgrade: websocket",
          "Connection: Upgrade",
          `Sec-WebSocket-Accept: ${acceptOf(headers["sec-websocket-key"] ?? "")}`,
          "Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n",
        ].join("\r\n"),
      );
      for (const [stream, text] of reply)
        socket.write(frame(2, Buffer.concat([Buffer.from([stream]), Buffer.from(text)])));
      socket.end(frame(8, Buffer.from([0x03, 0xe8])));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    transport = KubeTransport.fromFile(kubeconfigOf((server.address() as AddressInfo).port));
  });

  after(async () => {
    await transport.close();
    server.close();
  });

  const exec = (signal = AbortSignal.timeout(10_000)): Promise<Buffer> =>
    transport.exec({
      namespace: "joypod",
      pod: "joypod-api-1",
      container: "api",
      command: ["joypod", "session", "log", "gs-1"],
      maxOutputBytes: 1000,
      signal,
    });

  const failure = async (): Promise<string> => exec().then(() => "no error", messageOf);

  it("returns the standard output of the command, with the credentials of the kubeconfig", async () => {
    reply = [[1, "one\n"], [2, "a warning"], [1, "two\n"], success];
    expect((await exec()).toString()).to.equal("one\ntwo\n");
    const { pathname, searchParams } = new URL(seen?.url ?? "", "http://x");
    expect(pathname).to.equal("/api/v1/namespaces/joypod/pods/joypod-api-1/exec");
    expect(searchParams.getAll("command")).to.deep.equal(["joypod", "session", "log", "gs-1"]);
    expect(seen?.token).to.equal("Bearer secret-of-the-admin");
  });

  it("fails with the error output of the command, and when the connection breaks", async () => {
    reply = [
      [2, "No output is stored.\n"],
      [3, JSON.stringify({ status: "Failure", message: "command terminated with non-zero exit code" })],
    ];
    expect(await failure()).to.match(/pod joypod-api-1: No output is stored\. command terminated/);
    reply = [[1, "half"]];
    expect(await failure()).to.match(/closed before the command ended/);
  });

  it("gives up a command that prints too much, and one that is aborted", async () => {
    reply = [[1, "x".repeat(2000)], success];
    expect(await failure()).to.match(/printed more than 1000 bytes/);
    const reason = await exec(AbortSignal.abort(new Error("enough"))).catch(messageOf);
    expect(reason).to.equal("enough");
  });
});

/** Returns the answer to a WebSocket's key (RFC 6455). */
function acceptOf(key: string): string {
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}

/** Returns a server's WebSocket frame of less than 64 KiB. */
function frame(opcode: number, content: Buffer): Buffer {
  const head = Buffer.from([0x80 | opcode, 126, 0, 0]);
  head.writeUInt16BE(content.length, 2);
  return Buffer.concat([content.length < 126 ? Buffer.from([0x80 | opcode, content.length]) : head, content]);
}

function kubeconfigOf(port: number): string {
  const path = join(temporaryFolder("kubeconfig"), "config");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    clusters: [
      { name: "test", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } },
    ],
    users: [{ name: "test", user: { token: "secret-of-the-admin" } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}
