import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** A command that was run in a pod. */
export interface ExecRequest {
  pod: string;
  container: string;
  command: string[];
  isTerminal: boolean;
  /** Sizes of the terminal, as they were sent. */
  sizes: unknown[];
}

/** How a command of a pod runs on this machine. */
export interface LocalCommand {
  program: string;
  args: readonly string[];
  env: Record<string, string | undefined>;
}

const path = /^\/api\/v1\/namespaces\/[^/]+\/pods\/([^/]+)\/exec\?(.*)$/;
const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const streams = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/**
 * An API server in front of another one, without TLS, that runs commands of pods on this machine: there is no
 * kubelet in integration tests. It speaks the kubelet's protocol, v5.channel.k8s.io.
 */
export class ExecProxy {
  readonly url: string;
  readonly requests: ExecRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** `forward` sends all other requests on and returns status and body. */
  static async start(
    forward: (url: string) => Promise<{ status: number; body: string }>,
    toLocal: (command: readonly string[]) => LocalCommand,
  ): Promise<ExecProxy> {
    const server = createServer((incoming, response) => {
      forward(incoming.url ?? "").then(
        ({ status, body }) => response.writeHead(status, { "content-type": "application/json" }).end(body),
        (error: unknown) => response.writeHead(502).end(String(error)),
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = new ExecProxy(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on("upgrade", (incoming, socket) => proxy.#run(incoming, socket, toLocal));
    return proxy;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #run(
    { url = "", headers }: IncomingMessage,
    socket: Duplex,
    toLocal: (command: readonly string[]) => LocalCommand,
  ): void {
    const [, pod = "", query = ""] = path.exec(url) ?? [];
    const parameters = new URLSearchParams(query);
    const asked: ExecRequest = {
      pod,
      container: parameters.get("container") ?? "",
      command: parameters.getAll("command"),
      isTerminal: parameters.get("tty") === "true",
      sizes: [],
    };
    this.requests.push(asked);
    const accept = createHash("sha1").update(`${headers["sec-websocket-key"]}${guid}`).digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n`,
    );
    const { program, args, env } = toLocal(asked.command);
    const child = spawn(program, args, { env });
    child.stdin.on("error", () => undefined);
    if (parameters.get("stdin") !== "true") child.stdin.end();
    const send = (stream: number, content: Buffer): void => {
      socket.write(frame(2, Buffer.concat([Buffer.from([stream]), content])));
    };
    child.stdout.on("data", (content: Buffer) => send(streams.stdout, content));
    child.stderr.on("data", (content: Buffer) =>
      send(asked.isTerminal ? streams.stdout : streams.stderr, content),
    );
    child.once("close", (code) => {
      send(streams.status, Buffer.from(JSON.stringify(statusOf(code))));
      socket.end(frame(8, Buffer.from([0x03, 0xe8])));
    });
    socket.on("error", () => child.kill());
    readFrames(socket, (content) => {
      const [stream] = content;
      if (stream === streams.stdin) child.stdin.write(content.subarray(1));
      else if (stream === streams.resize) asked.sizes.push(JSON.parse(content.subarray(1).toString()));
      else if (stream === streams.close && content[1] === streams.stdin) child.stdin.end();
    });
  }
}

/** The final status as a kubelet reports it. */
function statusOf(code: number | null): object {
  if (code === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(code) }] },
  };
}

/** Returns a whole message of a WebSocket server. */
function frame(opcode: number, content: Buffer): Buffer {
  const head =
    content.length < 126
      ? Buffer.from([0x80 | opcode, content.length])
      : Buffer.from([0x80 | opcode, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  if (content.length >= 126) head.writeUInt32BE(content.length, 6);
  return Buffer.concat([head, content]);
}

/** Calls back with each binary message of a WebSocket client, whose frames are masked and never split. */
function readFrames(socket: Duplex, onMessage: (content: Buffer) => void): void {
  let buffered = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    for (;;) {
      const parsed = parseFrame(buffered);
      if (parsed === undefined) return;
      buffered = buffered.subarray(parsed.bytes);
      if (parsed.opcode === 2) onMessage(parsed.content);
    }
  });
}

function parseFrame(bytes: Buffer): { opcode: number; content: Buffer; bytes: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] ?? 0) & 0x7f;
  const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const start = 2 + sizeBytes + 4;
  if (bytes.length < start) return undefined;
  const length =
    sizeBytes === 0 ? short : sizeBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (bytes.length < start + length) return undefined;
  const mask = bytes.subarray(start - 4, start);
  const content = Buffer.from(
    bytes.subarray(start, start + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0)),
  );
  return { opcode: (bytes[0] ?? 0) & 0x0f, content, bytes: start + length };
}
