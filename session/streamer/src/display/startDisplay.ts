import { acceleratedReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { RenderingObstacle } from "#contracts/stream.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { ServerProcess } from "../processes.ts";
import { probeDisplay } from "./displayProbe.ts";
import { startXServer, startXwayland } from "./displayServers.ts";
import { renameSync, writeFileSync, readdirSync } from "node:fs";
import { gameEnvironmentFile, pacedDrawing } from "#contracts/nodeLayout.ts";

/** Rendering variables for the game container, in addition to the pod's environment. */
type GameEnvironment = Readonly<Record<string, string>>;

interface DisplayOptions {
  choice: "auto" | "xvfb" | "xwayland";
  profile: "gpu" | "software";
  renderNode: string | undefined;
  display: string;
  width: number;
  height: number;
  /** Refresh rate that the display reports, in Hz. */
  fps: number;
  env: Record<string, string>;
  logger: Logger;
  clock: Pick<Clock, "setTimer">;
  /** Called when the chosen display ends. */
  onExit: () => void;
}

/** The session's display and its renderer. */
export interface StartedDisplay {
  kind: "Xwayland" | "Xvfb";
  server: ServerProcess;
  /** OpenGL's renderer name, or `software` when no GPU was requested and nothing was probed. */
  renderer: string;
  /** Why a session that should have a GPU renders in software. */
  obstacle: RenderingObstacle | undefined;
  gameEnvironment: GameEnvironment;
}

/** OpenGL on Vulkan: a Vulkan driver can present on Xvfb, while OpenGL drivers may not. */
const zink = {
  MESA_LOADER_DRIVER_OVERRIDE: "zink",
  GALLIUM_DRIVER: "zink",
  LIBGL_KOPPER_DRI2: "1",
  ...pacedDrawing,
};
/**
 * NVIDIA's own OpenGL, which copies its pictures to a display that knows nothing of GPUs. It paces no frames,
 * and leaves EGL and Vulkan to Mesa, so it is the second choice.
 */
const nvidia = { ...pacedDrawing, __GLX_VENDOR_LIBRARY_NAME: "nvidia", LP_NUM_THREADS: "1" };
/** Ways in which a GPU can draw on Xvfb, best first. */
export const gamesOnXvfb = { zink, nvidia } as const satisfies Record<string, GameEnvironment>;
/** A single thread, because more would take processor time from the encoder. */
export const inSoftware = { LIBGL_ALWAYS_SOFTWARE: "1", LP_NUM_THREADS: "1", ...pacedDrawing };

/** Returns whether a probe chooses the display, which takes time. */
export function isProbed({ choice, profile }: Pick<DisplayOptions, "choice" | "profile">): boolean {
  return choice === "xwayland" || profile === "gpu";
}

/**
 * Starts the accelerated display if there is a GPU to use, or it is forced, and a probe succeeds on it.
 * Otherwise starts Xvfb. Resolves to undefined when Xvfb does not start.
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
      "The accelerated display does not work here. The session uses the software display.",
    );
  }
  const xvfb = await startXvfb(options);
  if (!xvfb || profile === "software") return xvfb;
  for (const [way, gameEnvironment] of Object.entries(gamesOnXvfb)) {
    const env = { ...options.env, ...gameEnvironment };
    const { values, failure } = await probeDisplay(["gl"], { ...options, env });
    const renderer = values.get("renderer");
    logger.info({ way, renderer, reason: failure }, "The GPU was tried on the software display.");
    if (failure === undefined && renderer !== undefined && !isSoftware(renderer))
      return { ...xvfb, renderer, gameEnvironment };
  }
  logger.warn({ obstacle }, "The session renders in software although it should have a GPU.");
  return { ...xvfb, obstacle, gameEnvironment: inSoftware };
}

async function startXvfb(options: DisplayOptions): Promise<StartedDisplay | undefined> {
  const server = await startXServer(options);
  return server && { kind: "Xvfb", server, renderer: "software", obstacle: undefined, gameEnvironment: {} };
}

/** Returns the accelerated display, or why it cannot be used; none of its processes is left then. */
async function tryXwayland(options: DisplayOptions): Promise<StartedDisplay | RenderingObstacle> {
  let isChosen = false;
  const onExit = () => {
    if (isChosen) options.onExit();
  };
  const server = await startXwayland({ ...options, onExit });
  if (!server) return acceleratedReasons.displayFailed;
  const found = await probeXwayland(options);
  isChosen = true;
  if (found.obstacle === undefined)
    return { kind: "Xwayland", server, renderer: found.renderer, obstacle: undefined, gameEnvironment: {} };
  await server.stop();
  return found.obstacle;
}

/**
 * Probes the display and returns its renderer and any obstacle. A software renderer is an obstacle only if a
 * GPU is required, because the display may be forced without one.
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

/** Returns whether the renderer is one of Mesa's software renderers. */
export function isSoftware(renderer: string): boolean {
  return /llvmpipe|lavapipe|softpipe|swrast|software/i.test(renderer);
}

/**
 * Writes the game's variables for its supervisor with an atomic rename. The supervisor reads them once
 * display and sound exist, so they must be written before.
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

/** Returns the device file of the container's first GPU that can render; undefined without one. */
export function findRenderNode(folder = "/dev/dri"): string | undefined {
  try {
    const first = readdirSync(folder)
      .filter((name) => /^renderD\d+$/.test(name))
      .sort()[0];
    return first && `${folder}/${first}`;
  } catch {
    return undefined; // No driver, or no device passed to the container.
  }
}
