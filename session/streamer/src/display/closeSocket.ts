import { createServer } from "node:net";
import type { Logger } from "#runtime/logger.ts";
import { removeStale } from "../processes.ts";
import type { WindowManager } from "./windowManager.ts";

const maxConnections = 4;
/** Bounds what a game can cause that connects itself: the supervisor needs one request. */
const maxRequests = 16;

interface CloseSocketOptions {
  socketPath: string;
  windows: Pick<WindowManager, "closeAll" | "count">;
  logger: Logger;
}

/** The socket on which the supervisor asks for a close request to the game's windows. */
export interface CloseSocket {
  close(): void;
}

/**
 * Listens for the supervisor, which connects when the game has to end. The answer says how many windows were
 * asked to close, are open, and were ever opened. The game can connect too, which closes its own windows.
 */
export async function openCloseSocket({
  socketPath,
  windows,
  logger,
}: CloseSocketOptions): Promise<CloseSocket> {
  let requests = 0;
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.on("data", () => socket.destroy()); // The supervisor only reads.
    if (requests++ >= maxRequests) {
      socket.destroy();
      return;
    }
    void windows.closeAll().then((asked) => {
      const { open, opened } = windows.count();
      logger.info({ asked, open, opened }, "The game's windows were asked to close.");
      socket.end(`asked ${asked} open ${open} opened ${opened}\n`);
    });
  });
  server.maxConnections = maxConnections;
  removeStale(socketPath, logger);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
  server.on("error", (error) => logger.warn({ err: error }, "A close request could not be accepted."));
  return { close: () => void server.close() };
}
