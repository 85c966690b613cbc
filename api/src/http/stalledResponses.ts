import type { Server } from "node:http";
import type { Socket } from "node:net";

interface Progress {
  /** Bytes that the client's side has taken. */
  taken: number;
  sinceMs: number;
}

/**
 * Cuts connections whose client takes nothing of its response, because each of them holds the response's
 * memory. It looks now and then at what is still unsent, which costs requests nothing.
 */
export function cutStalledResponses(
  server: Server,
  { stalledResponseMs, checkingIntervalMs }: { stalledResponseMs: number; checkingIntervalMs: number },
): void {
  const connections = new Map<Socket, Progress>();
  server.on("connection", (socket: Socket) => {
    connections.set(socket, { taken: 0, sinceMs: performance.now() });
    socket.once("close", () => connections.delete(socket));
  });
  const timer = setInterval(() => {
    const nowMs = performance.now();
    for (const [socket, progress] of connections) {
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || taken !== progress.taken)
        connections.set(socket, { taken, sinceMs: nowMs });
      // A plain end would leave the kernel to hold what it took of the response, and the client to read it
      // for days.
      else if (nowMs - progress.sinceMs >= stalledResponseMs) socket.resetAndDestroy();
    }
  }, checkingIntervalMs);
  timer.unref();
  server.once("close", () => clearInterval(timer));
}
