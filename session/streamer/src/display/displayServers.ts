import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "#runtime/logger.ts";
import { addDisplayModes, listModes } from "./displayModes.ts";
import { startServerProcess, waitForSocket, type ServerProcess, removeStale } from "../processes.ts";

const xvfbDeadlineMs = 15_000;
/** A game that is already connected can keep the display from replying. */
const modesDeadlineMs = 5_000;

interface XServerOptions {
  display: string;
  width: number;
  height: number;
  /** Refresh rate that the display reports, in Hz; 60 by default. */
  fps?: number;
  env: Record<string, string>;
  logger: Logger;
  onExit: (name: string) => void;
}

/**
 * Starts Xvfb with the modes that games choose from. Resolves to undefined when it does not accept
 * connections in time.
 */
export async function startXServer({
  display,
  width,
  height,
  fps = 60,
  env,
  logger,
  onExit,
}: XServerOptions): Promise<ServerProcess | undefined> {
  removeStaleDisplay(display, logger);
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
    logger,
    onExit,
  });
  if (!(await waitForSocket(displaySocket(display), xvfbDeadlineMs))) return undefined;
  const given = await Promise.race([
    addDisplayModes(display, listModes(width, height, fps)).catch((error: unknown) => error),
    delay(modesDeadlineMs, new Error("The display does not reply."), { ref: false }),
  ]);
  if (given !== undefined) logger.warn({ err: given }, "The display reports no refresh rate.");
  return server;
}

/** Returns the path of a display's Unix socket. */
export function displaySocket(display: string): string {
  return `/tmp/.X11-unix/X${display.slice(1)}`;
}

/**
 * Removes the files of an earlier display. The pod's volumes outlive a restarted container, and a stale lock
 * keeps the server from starting.
 */
function removeStaleDisplay(display: string, logger: Logger): void {
  for (const stale of [`/tmp/.X${display.slice(1)}-lock`, displaySocket(display)]) removeStale(stale, logger);
}

/** The compositor needs about 200 ms; a GPU driver may take a few seconds. */
const xwaylandDeadlineMs = 5_000;

interface XwaylandOptions extends XServerOptions {
  /** The GPU's device file; undefined to compose in software. */
  renderNode: string | undefined;
  logger: Logger;
}

/**
 * Starts a rootful Xwayland on a headless compositor. Neither needs a seat, a screen or DRM master, and each
 * ends with the other. Resolves to undefined when the display does not accept connections in time; all
 * processes are gone then.
 */
export async function startXwayland({
  display,
  env,
  renderNode,
  logger,
  onExit,
}: XwaylandOptions): Promise<ServerProcess | undefined> {
  removeStaleDisplay(display, logger);
  const server = startServerProcess({
    name: "display",
    command: "cage",
    args: ["--", "Xwayland", display, "-dpi", "96", "-nolisten", "tcp", "-ac", "-noreset"],
    env: { ...env, ...compositorEnvironment(renderNode) },
    logger,
    onExit,
    // Otherwise Xwayland would remove the socket of the display that follows it, and the compositor ignores
    // SIGTERM while it starts.
    killsGroup: true,
  });
  if (await waitForSocket(displaySocket(display), xwaylandDeadlineMs)) return server;
  await server.stop();
  return undefined;
}

function compositorEnvironment(renderNode: string | undefined): Record<string, string> {
  return {
    WLR_BACKENDS: "headless",
    WLR_LIBINPUT_NO_DEVICES: "1",
    ...(renderNode === undefined
      ? { WLR_RENDERER: "pixman" }
      : { WLR_RENDERER: "gles2", WLR_RENDER_DRM_DEVICE: renderNode }),
  };
}
