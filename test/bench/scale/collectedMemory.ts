import { eventually } from "#test/support/clocks/eventually.ts";
import { withTimeout } from "#runtime/scheduling/deadline.ts";
import { rssBytesOf } from "./processFigures.ts";

const timeoutMs = 20_000;

/**
 * Returns environment variables for Node so that its memory can be collected later. The inspector does not
 * listen until a signal starts it.
 */
export function inspectable(port: number): Record<string, string> {
  return { NODE_OPTIONS: `--inspect-port=127.0.0.1:${port}` };
}

/**
 * Returns the resident bytes of a Node process after a garbage collection. Before a collection, memory mostly
 * shows how rarely V8 collects on a machine with free memory; only this figure shows leaks. The process must
 * be started with the variables of `inspectable`.
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
    // Objects finalized by the first collection are freed by the second.
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

/** Calls the method and resolves once it has returned. */
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
