import { WebSocket } from "undici";
import type { Credentials } from "./authentication.ts";
import { KubeError } from "../api/errors.ts";

/** A command in a container of a running pod. */
export interface PodCommand {
  namespace: string;
  pod: string;
  container: string;
  command: readonly string[];
  /** The command is given up when it prints more. */
  maxOutputBytes: number;
  signal: AbortSignal;
}

/** The protocols of Kubernetes for a command's streams; each message starts with the number of its stream. */
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const streams = { stdout: 1, stderr: 2, status: 3 } as const;

/**
 * Runs a command and returns its standard output. Requires the permission `create pods/exec` (`get` on older
 * clusters).
 *
 * @throws KubeError when the command cannot run, fails or prints too much; the message has its error output
 */
export async function execInPod(
  server: string,
  { dispatcher, headers }: Credentials,
  { namespace, pod, container, command, maxOutputBytes, signal }: PodCommand,
): Promise<Buffer> {
  const query = new URLSearchParams({ container, stdout: "true", stderr: "true" });
  for (const word of command) query.append("command", word);
  const url = `${server.replace(/^http/, "ws")}/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query.toString()}`;
  const what = `Running ${command[0] ?? ""} in pod ${pod}`;
  const socket = new WebSocket(url, { protocols, dispatcher, headers });
  socket.binaryType = "arraybuffer";
  const output: Record<number, Buffer[]> = {};
  let bytes = 0;
  const ended = Promise.withResolvers<undefined>();
  const fail = (message: string): void => ended.reject(new KubeError({ reason: "ExecFailed", message }));
  const textOf = (stream: number): string => Buffer.concat(output[stream] ?? []).toString();
  socket.addEventListener("message", ({ data }: { data: unknown }) => {
    const message = Buffer.from(data as ArrayBuffer);
    const [stream = 0] = message;
    bytes += message.length;
    if (bytes > maxOutputBytes) fail(`${what}: it printed more than ${maxOutputBytes} bytes.`);
    else (output[stream] ??= []).push(message.subarray(1));
  });
  socket.addEventListener("error", () => fail(`${what}: the API server did not accept the request.`));
  socket.addEventListener("close", () => {
    const failure = failureOf(textOf(streams.status));
    if (failure === undefined) ended.resolve(undefined);
    else fail(`${what}: ${[textOf(streams.stderr).trim(), failure].filter(Boolean).join(" ")}`);
  });
  const onAbort = (): void => ended.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    await ended.promise;
    return Buffer.concat(output[streams.stdout] ?? []);
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket.close();
  }
}

/** Returns why the command failed, from its final status; undefined if it succeeded. */
function failureOf(status: string): string | undefined {
  if (status === "") return "The connection closed before the command ended.";
  try {
    const { status: result, message } = JSON.parse(status) as { status?: unknown; message?: unknown };
    return result === "Success" ? undefined : String(message);
  } catch {
    return status;
  }
}
