import { eventually } from "#test/support/clocks/eventually.ts";
import { withTimeout } from "#runtime/scheduling/deadline.ts";
import { rssBytesOf } from "./processFigures.ts";

const timeoutMs = 20_000;

/**
 * What Node is started with, so that its memory can be collected later: nothing listens before it is asked
 * to.
 */
export function inspectable(port: number): Record<string, string> {
  return { NODE_OPTIONS: `--inspect-port=127.0.0.1:${port}` };
}

/**
 * Returns the bytes of memory that a process of Node's has once V8 has collected what nobody uses. What it
 * has before tells how seldom V8 found it worth the time, on a machine with memory to spare; a leak shows in
 * this alone. The process was started as `inspectable` says.
 */
export async function collectedRssBytes(pid: number, port: number): Promise<number> {
  process.kill(pid, "SIGUSR1");
  const url = await eventually(() => debuggerUrl(port), {
    timeoutMs,
    what: `process ${pid} to be inspectable`,
  });
  const socket = new WebSocket(url);
  try {
    await withTimeout(opened(socket), timeoutMs, `Reaching the inspector of process ${pid}`);
    // What the first collection finalizes goes with the second.
    for (const id of [1, 2])
      await withTimeout(
        call(socket, id, "HeapProfiler.collectGarbage"),
        timeoutMs,
        `A collection of process ${pid}`,
      );
    return rssBytesOf(pid);
  } finally {
    socket.close();
  }
}

async function debuggerUrl(port: number): Promise<string | undefined> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl?: string;
  }[];
  return target?.webSocketDebuggerUrl;
}

function opened(socket: WebSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true });
    socket.addEventListener("error", () => reject(new Error(`${socket.url} cannot be reached.`)), {
      once: true,
    });
  });
}

/** Resolves once the method has been carried out. */
function call(socket: WebSocket, id: number, method: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener("message", ({ data }) => {
      const response = JSON.parse(String(data)) as { id?: number; error?: { message: string } };
      if (response.id !== id) return;
      if (response.error === undefined) resolve();
      else reject(new Error(`${method}: ${response.error.message}`));
    });
    socket.send(JSON.stringify({ id, method }));
  });
}
