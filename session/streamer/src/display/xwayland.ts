import type { Logger } from "#runtime/logger.ts";
import { startServerProcess, waitForSocket, type ServerProcess } from "../processes/serverProcess.ts";
import { displaySocket, removeStaleDisplay, type XServerOptions } from "./xServer.ts";

/** The compositor needs a fifth of a second; a GPU's driver may take a few. */
const startDeadlineMs = 5_000;

export interface XwaylandOptions extends XServerOptions {
  /** The GPU's device file; undefined composes in software. */
  renderNode: string | undefined;
  log: Logger;
}

/**
 * Starts a rootful Xwayland on a compositor that shows its one window to nobody. Neither needs a seat, a
 * screen or a master of the card. Each ends with the other. Resolves with undefined when the display does not
 * accept connections in time; nothing of it is left then.
 */
export async function startXwayland({
  display,
  env,
  renderNode,
  log,
  onExit,
}: XwaylandOptions): Promise<ServerProcess | undefined> {
  removeStaleDisplay(display, log);
  const server = startServerProcess({
    name: "display",
    command: "cage",
    args: ["--", "Xwayland", display, "-dpi", "96", "-nolisten", "tcp", "-ac", "-noreset"],
    env: { ...env, ...compositorEnvironment(renderNode) },
    log,
    onExit,
    // Xwayland would remove the socket of the display that comes after it, and the compositor ignores a
    // SIGTERM while it starts.
    killsGroup: true,
  });
  if (await waitForSocket(displaySocket(display), startDeadlineMs)) return server;
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
