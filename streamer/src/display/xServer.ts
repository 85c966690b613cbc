import type { Logger } from "#runtime/logger.ts";
import { startServerProcess, waitForSocket, type ServerProcess } from "../processes/serverProcess.ts";
import { removeStale } from "../processes/staleSocket.ts";

const startDeadlineMs = 15_000;

export interface XServerOptions {
  display: string;
  width: number;
  height: number;
  env: Record<string, string>;
  log: Logger;
  onExit: (name: string) => void;
}

/** Starts the virtual display; resolves with undefined when it does not accept connections in time. */
export async function startXServer({ display, width, height, env, log, onExit }: XServerOptions): Promise<ServerProcess | undefined> {
  const number = display.slice(1);
  const socket = `/tmp/.X11-unix/X${number}`;
  // The pod's volumes outlive a restarted container, and a lock that is left there keeps the server from starting.
  for (const stale of [`/tmp/.X${number}-lock`, socket]) removeStale(stale, log);
  const server = startServerProcess({
    name: "display",
    command: "Xvfb",
    args: [
      display, "-screen", "0", `${width}x${height}x24`, "-dpi", "96",
      "-nolisten", "tcp", "-ac", "-noreset", "+extension", "GLX", "+extension", "XTEST",
    ],
    env, log, onExit,
  });
  return await waitForSocket(socket, startDeadlineMs) ? server : undefined;
}
