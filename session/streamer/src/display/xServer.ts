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
export async function startXServer({
  display,
  width,
  height,
  env,
  log,
  onExit,
}: XServerOptions): Promise<ServerProcess | undefined> {
  removeStaleDisplay(display, log);
  const server = startServerProcess({
    name: "display",
    command: "Xvfb",
    args: [
      display,
      "-screen",
      "0",
      `${width}x${height}x24`,
      "-dpi",
      "96",
      "-nolisten",
      "tcp",
      "-ac",
      "-noreset",
      "+extension",
      "GLX",
      "+extension",
      "XTEST",
    ],
    env,
    log,
    onExit,
  });
  return (await waitForSocket(displaySocket(display), startDeadlineMs)) ? server : undefined;
}

/** Returns where a display takes connections. */
export function displaySocket(display: string): string {
  return `/tmp/.X11-unix/X${display.slice(1)}`;
}

/**
 * Removes a former display's files: the pod's volumes outlive a restarted container, and a lock that is left
 * there keeps the server from starting.
 */
export function removeStaleDisplay(display: string, log: Logger): void {
  for (const stale of [`/tmp/.X${display.slice(1)}-lock`, displaySocket(display)]) removeStale(stale, log);
}
