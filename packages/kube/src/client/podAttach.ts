import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "undici";
import type { Credentials } from "./authentication.ts";
import { KubeError } from "../api/errors.ts";

/** The size of a terminal, in characters. */
export interface TerminalSize {
  columns: number;
  rows: number;
}

/** A local terminal for the command. */
export interface AttachedTerminal {
  size(): TerminalSize;
  /** Calls back when the size changes, until the returned function is called. */
  onResize(listener: () => void): () => void;
}

/** An interactive command in a container of a running pod. */
export interface AttachedCommand {
  namespace: string;
  pod: string;
  container: string;
  command: readonly string[];
  /** Undefined for a command that reads nothing. */
  stdin: Readable | undefined;
  stdout: Writable;
  /** Not used with a terminal, which has one output. */
  stderr: Writable;
  /** Undefined for plain streams. */
  terminal: AttachedTerminal | undefined;
  signal: AbortSignal;
}

/** Each message starts with the number of its stream. Only version 5 can end the standard input. */
const protocol = "v5.channel.k8s.io";
const streams = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const;

/** Input is read no further while more of it waits to be sent. */
const unsentBytesMax = 2 ** 20;
/** The command is given up when its output is read too slowly to keep this much in memory. */
const unreadBytesMax = 512 * 2 ** 20;
const drainMs = 20;

/**
 * Runs a command with the caller's streams and returns its exit code. It is not retried. Requires the
 * permission `create pods/exec` (`get` on older clusters) and Kubernetes 1.30.
 *
 * @throws KubeError when the command cannot run or the connection breaks; the signal's reason
 */
export async function attachToCommand(
  server: string,
  { dispatcher, headers }: Credentials,
  attached: AttachedCommand,
): Promise<number> {
  const what = `Running ${attached.command[0] ?? ""} in pod ${attached.pod}`;
  const fail = (message: string): KubeError =>
    new KubeError({ reason: "ExecFailed", message: `${what}: ${message}` });
  const { signal } = attached;
  signal.throwIfAborted();
  const socket = new WebSocket(urlOf(server, attached), { protocols: [protocol], dispatcher, headers });
  socket.binaryType = "arraybuffer";
  const ended = Promise.withResolvers<number>();
  const ending = new AbortController();
  const status: Buffer[] = [];
  socket.addEventListener("open", () => {
    sendSizes(socket, attached.terminal, ending.signal);
    sendInput(socket, attached, ending.signal);
  });
  socket.addEventListener("message", ({ data }: { data: unknown }) => {
    const message = Buffer.from(data as ArrayBuffer);
    const output = outputOf(message[0], attached);
    if (message[0] === streams.status) status.push(message.subarray(1));
    if (output === undefined) return;
    output.write(message.subarray(1));
    if (output.writableLength > unreadBytesMax) ended.reject(fail("its output is read too slowly."));
  });
  socket.addEventListener("error", () => ended.reject(fail("the API server did not accept the request.")));
  socket.addEventListener("close", () => {
    const code = exitCodeOf(Buffer.concat(status).toString());
    if (typeof code === "number") ended.resolve(code);
    else ended.reject(fail(code));
  });
  const onAbort = (): void => ended.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await ended.promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    ending.abort();
    socket.close();
  }
}

function urlOf(
  server: string,
  { namespace, pod, container, command, stdin, terminal }: AttachedCommand,
): string {
  const query = new URLSearchParams({
    container,
    stdin: String(stdin !== undefined),
    stdout: "true",
    stderr: String(terminal === undefined),
    tty: String(terminal !== undefined),
  });
  for (const word of command) query.append("command", word);
  return `${server.replace(/^http/, "ws")}/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query.toString()}`;
}

function outputOf(stream: number | undefined, { stdout, stderr }: AttachedCommand): Writable | undefined {
  if (stream === streams.stdout) return stdout;
  return stream === streams.stderr ? stderr : undefined;
}

/**
 * Sends the input and then its end. Stops reading while the connection is slower, and at the end of the
 * command, so that the process can end.
 */
function sendInput(socket: WebSocket, { stdin }: AttachedCommand, ending: AbortSignal): void {
  if (stdin === undefined) return;
  const onData = (chunk: Buffer): void => {
    socket.send(message(streams.stdin, chunk));
    if (socket.bufferedAmount <= unsentBytesMax) return;
    stdin.pause();
    void resumeOnceSent();
  };
  const resumeOnceSent = async (): Promise<void> => {
    while (socket.bufferedAmount > unsentBytesMax && !ending.aborted) await delay(drainMs);
    if (!ending.aborted) stdin.resume();
  };
  const onEnd = (): void => socket.send(message(streams.close, Buffer.from([streams.stdin])));
  stdin.on("data", onData).once("end", onEnd);
  ending.addEventListener("abort", () => stdin.off("data", onData).off("end", onEnd).pause(), { once: true });
}

function sendSizes(socket: WebSocket, terminal: AttachedTerminal | undefined, ending: AbortSignal): void {
  if (terminal === undefined) return;
  const send = (): void => {
    const { columns, rows } = terminal.size();
    socket.send(message(streams.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))));
  };
  send();
  const unsubscribe = terminal.onResize(send);
  ending.addEventListener("abort", unsubscribe, { once: true });
}

function message(stream: number, content: Buffer): Buffer<ArrayBuffer> {
  return Buffer.concat([Buffer.from([stream]), content]);
}

/** The final status of a command: its exit code is one of the causes. */
interface ExecStatus {
  status?: unknown;
  message?: unknown;
  details?: { causes?: readonly { reason?: unknown; message?: unknown }[] };
}

/** Returns the exit code in the final status, or why there is none. */
export function exitCodeOf(status: string): number | string {
  if (status === "") return "the connection closed before the command ended.";
  let parsed: ExecStatus;
  try {
    parsed = JSON.parse(status) as ExecStatus;
  } catch {
    return status;
  }
  if (parsed.status === "Success") return 0;
  const cause = parsed.details?.causes?.find(({ reason }) => reason === "ExitCode");
  const code = Number(cause?.message);
  return Number.isInteger(code) && code > 0 ? code : String(parsed.message);
}
