import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";

/** Kinds of slow clients, with the options of the program. */
const modes = {
  headers: ["-H"],
  body: ["-B", "-f", "application/json", "-s", "4096"],
  read: ["-X", "-n", "1", "-z", "32", "-w", "64", "-y", "128"],
} as const;

export interface SlowHttpTestOptions {
  mode: keyof typeof modes;
  url: string;
  cookie?: string;
  connections: number;
  /** Time after which it gives up if it is not disconnected. */
  seconds: number;
  /** Ends it early. */
  signal?: AbortSignal;
}

/** Runs Debian's slowhttptest, and returns the reason of its end, or nothing if it was aborted. */
export async function slowHttpTest({
  mode,
  url,
  cookie,
  connections,
  seconds,
  signal,
}: SlowHttpTestOptions): Promise<string> {
  const options = [
    "-c",
    String(connections),
    "-r",
    String(connections),
    "-l",
    String(seconds),
    "-i",
    "1",
    "-p",
    "5",
    "-v",
    "1",
    "-u",
    url,
    ...(cookie === undefined ? [] : ["-j", cookie]),
  ];
  const child = spawn("slowhttptest", [...modes[mode], ...options], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: tmpdir(),
  });
  signal?.addEventListener("abort", () => child.kill("SIGKILL"), { once: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => (output += text.toString()));
  await new Promise((resolve, reject) => {
    child.once("error", (cause) =>
      reject(
        new Error(
          "slowhttptest is missing: install Debian's package of that name, or run `make prerequisites`.",
          { cause },
        ),
      ),
    );
    child.once("close", resolve);
  });
  if (signal?.aborted === true) return "";
  const reason = /Exit status:\s*(.*)/.exec(output.replaceAll(/\u001b\[[\d;]*[A-Za-z]/g, ""))?.[1];
  if (reason === undefined) throw new Error(`slowhttptest told no end:\n${output.slice(-2000)}`);
  return reason.trim();
}

/**
 * Returns the unsent bytes that the kernel holds for clients of a loopback port, including closed
 * connections.
 */
export function unsentBytesAt(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address]) => address === local)
    .reduce((sum, [, , , , queues = "0:0"]) => sum + Number.parseInt(queues, 16), 0);
}
