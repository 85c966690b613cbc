import { acceleratedReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { RenderingObstacle } from "#contracts/stream.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ServerProcess } from "../processes.ts";
import { probeDisplay } from "./displayProbe.ts";
import { startXServer, startXwayland } from "./displayServers.ts";
import { renameSync, writeFileSync, readdirSync } from "node:fs";
import { gameEnvironmentFile } from "#contracts/nodeLayout.ts";

/** What the game's container is told of rendering; on top of what the pod's environment says. */
type GameEnvironment = Readonly<Record<string, string>>;

interface DisplayOptions {
  choice: "auto" | "xvfb" | "xwayland";
  profile: "gpu" | "software";
  renderNode: string | undefined;
  display: string;
  width: number;
  height: number;
  env: Record<string, string>;
  logger: Logger;
  clock: Pick<Clock, "setTimer">;
  /** Called when the display that was decided for ends. */
  onExit: () => void;
}

/** The session's display, and what was found to render on it. */
export interface StartedDisplay {
  server: ServerProcess;
  /** OpenGL's name of it; `software` where no GPU was to be used and nothing was probed. */
  renderer: string;
  /** Why the session renders in software although it was to have a GPU. */
  obstacle: RenderingObstacle | undefined;
  gameEnvironment: GameEnvironment;
}

/** OpenGL by Vulkan: a Vulkan driver shows its pictures on Xvfb, which OpenGL's own driver may not. */
const zink = { MESA_LOADER_DRIVER_OVERRIDE: "zink", GALLIUM_DRIVER: "zink", LIBGL_KOPPER_DRI2: "1" };
/** One thread: more threads would take the encoder's processors. */
export const inSoftware = { LIBGL_ALWAYS_SOFTWARE: "1", LP_NUM_THREADS: "1" };

/** Returns whether a display is decided for by a probe, which takes time. */
export function isProbed({ choice, profile }: Pick<DisplayOptions, "choice" | "profile">): boolean {
  return choice === "xwayland" || profile === "gpu";
}

/**
 * Starts the accelerated display where there is a GPU to use, or it is forced, and a probe finds that it
 * works; otherwise Xvfb. Returns undefined when Xvfb does not start.
 */
export async function startDisplay(options: DisplayOptions): Promise<StartedDisplay | undefined> {
  if (!isProbed(options)) return startXvfb(options);
  const { choice, profile, renderNode, logger } = options;
  let obstacle: RenderingObstacle = acceleratedReasons.noRenderNode;
  if (choice === "xwayland" || (choice === "auto" && renderNode !== undefined)) {
    const tried = await tryXwayland(options);
    if (typeof tried !== "string") return tried;
    obstacle = tried;
    logger.warn(
      { obstacle },
      "The accelerated display does not work here; the session takes the one in software.",
    );
  }
  const xvfb = await startXvfb(options);
  if (!xvfb || profile === "software") return xvfb;
  const { values, failure } = await probeDisplay(["gl"], { ...options, env: { ...options.env, ...zink } });
  const renderer = values.get("renderer");
  if (failure === undefined && renderer !== undefined && !isSoftware(renderer))
    return { ...xvfb, renderer, gameEnvironment: zink };
  logger.warn(
    { obstacle, renderer, reason: failure },
    "The session was to have a GPU, and renders in software.",
  );
  return { ...xvfb, obstacle, gameEnvironment: inSoftware };
}

async function startXvfb(options: DisplayOptions): Promise<StartedDisplay | undefined> {
  const server = await startXServer(options);
  return server && { server, renderer: "software", obstacle: undefined, gameEnvironment: {} };
}

/** Returns what keeps the accelerated display from being used; nothing of it is left then. */
async function tryXwayland(options: DisplayOptions): Promise<StartedDisplay | RenderingObstacle> {
  let isDecided = false;
  const onExit = () => {
    if (isDecided) options.onExit();
  };
  const server = await startXwayland({ ...options, onExit });
  if (!server) return acceleratedReasons.displayFailed;
  const found = await probeXwayland(options);
  isDecided = true;
  if (found.obstacle === undefined)
    return { server, renderer: found.renderer, obstacle: undefined, gameEnvironment: {} };
  await server.stop();
  return found.obstacle;
}

/**
 * Tries the display, and returns its renderer and what keeps it from being used. A software renderer does so
 * only where a GPU is to be used: the display may be forced to be tried without one.
 */
async function probeXwayland(
  options: DisplayOptions,
): Promise<{ renderer: string; obstacle: RenderingObstacle | undefined }> {
  const { width, height, profile, logger } = options;
  const sized = await probeDisplay(["size", String(width), String(height)], options);
  const gl = sized.failure === undefined ? await probeDisplay(["gl"], options) : sized;
  const vulkan = gl.failure === undefined ? await probeDisplay(["vulkan"], options) : gl;
  const renderer = gl.values.get("renderer") ?? "";
  logger.info(
    { found: Object.fromEntries([...gl.values, ...vulkan.values]), reason: vulkan.failure },
    "The accelerated display was tried.",
  );
  if (vulkan.failure !== undefined) return { renderer, obstacle: acceleratedReasons.probeFailed };
  return {
    renderer,
    obstacle: profile === "gpu" && isSoftware(renderer) ? acceleratedReasons.softwareRenderer : undefined,
  };
}

/** Returns whether a renderer's name is one of Mesa's that use no GPU. */
export function isSoftware(renderer: string): boolean {
  return /llvmpipe|lavapipe|softpipe|swrast|software/i.test(renderer);
}

/**
 * Leaves the variables for the game to the game's supervisor, by one rename. The supervisor reads them when
 * display and sound are there, so they have to be written before.
 */
export function writeGameEnvironment(runDir: string, variables: GameEnvironment): void {
  const path = `${runDir}/${gameEnvironmentFile}`;
  writeFileSync(
    `${path}.new`,
    Object.entries(variables)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
    { mode: 0o644 },
  );
  renameSync(`${path}.new`, path);
}

/** Returns the device file of the container's first GPU that renders; undefined without one. */
export function findRenderNode(folder = "/dev/dri"): string | undefined {
  try {
    const first = readdirSync(folder)
      .filter((name) => /^renderD\d+$/.test(name))
      .sort()[0];
    return first && `${folder}/${first}`;
  } catch {
    return undefined; // No driver, or none that the container was given.
  }
}
