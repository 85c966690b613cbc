import { mkdirSync } from "node:fs";
import type { RenderingObstacle } from "#contracts/stream.ts";
import { messageOf } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import type { PictureConfig } from "../config.ts";
import { probeDisplay, type ProbeFindings } from "../display/displayProbe.ts";
import { startXServer, startXwayland } from "../display/displayServers.ts";
import { findRenderNode, gamesOnXvfb, inSoftware, startDisplay } from "../display/startDisplay.ts";
import { encoders as allEncoders, type Encoder } from "../media/encoders.ts";
import { probeEncoders } from "../media/probe.ts";
import type { ServerProcess } from "../processes.ts";
import { findDevices, type Devices } from "./findDevices.ts";
import { measureStream, type StreamMeasurement } from "./measureStream.ts";

/** Enough frames for a driver that compiles shaders on the first one, few enough for a software renderer. */
const timedFrames = "60";
const measuredSeconds = 5;

/** What was drawn in one way on one display. */
interface Drawing extends ProbeFindings {
  /** As in "OpenGL". */
  api: string;
}

/** A display that was started, and how programs draw on it; without drawings if it did not start. */
interface TriedDisplay {
  name: "Xwayland" | "Xvfb";
  hasStarted: boolean;
  drawings: Drawing[];
}

/** The result of trying an encoder. */
interface TriedEncoder {
  encoder: string;
  works: boolean;
  reason: string;
}

/** Everything that the test finds about a machine. */
export interface MachineFindings {
  devices: Devices;
  picture: { width: number; height: number; fps: number };
  /** What renders without a display. */
  headless: Drawing[];
  displays: TriedDisplay[];
  /** What a session with a GPU gets; undefined if no display starts. */
  session:
    | { display: "Xwayland" | "Xvfb"; renderer: string; obstacle: RenderingObstacle | undefined }
    | undefined;
  encoders: TriedEncoder[];
  streams: (
    | ({ encoder: string; codec: string } & StreamMeasurement)
    | { encoder: string; failure: string }
  )[];
}

/** Tries displays, renderers, capture and encoders of this machine, as sessions use them. */
export async function checkMachine(config: PictureConfig, logger: Logger): Promise<MachineFindings> {
  mkdirSync(config.workDir, { recursive: true, mode: 0o700 });
  const picture = { width: config.width, height: config.height, fps: config.framesPerSecond };
  const devices = findDevices();
  const headless = await probeHeadless(config, devices);
  const displays = [await tryXwayland(config, logger), await tryXvfb(config, logger)];
  const tried: TriedEncoder[] = [];
  const working = await probeEncoders({
    codecs: config.codecs,
    profile: "gpu",
    picture,
    env: config.encoderEnvironments,
    logger,
    clock: systemClock,
    onTrial: (trial) => tried.push(trial),
  });
  const { session, streams } = await playSession(config, logger, [...working.values()]);
  return { devices, picture, headless, displays, session, encoders: tried, streams };
}

async function draw(api: string, args: string[], env: Record<string, string>): Promise<Drawing> {
  return { api, ...(await probeDisplay(args, { env, clock: systemClock })) };
}

async function probeHeadless({ childEnvironment: env }: PictureConfig, devices: Devices): Promise<Drawing[]> {
  const drawings = [await draw("EGL", ["eglDevices"], env), await draw("Vulkan", ["vulkanDevices"], env)];
  for (const { path } of devices.renderNodes) drawings.push(await draw(`GBM on ${path}`, ["gbm", path], env));
  return drawings;
}

async function tryXwayland(config: PictureConfig, logger: Logger): Promise<TriedDisplay> {
  const { childEnvironment: env, display, width, height } = config;
  const renderNode = findRenderNode();
  const server = await startXwayland({
    display,
    width,
    height,
    env,
    renderNode,
    logger,
    onExit: () => undefined,
  });
  if (!server) return { name: "Xwayland", hasStarted: false, drawings: [] };
  return probeAndStop("Xwayland", server, async () => {
    await probeDisplay(["size", String(width), String(height)], { env, clock: systemClock });
    return [await draw("OpenGL", ["gl", timedFrames], env), ...(await drawOtherwise(env))];
  });
}

async function tryXvfb(config: PictureConfig, logger: Logger): Promise<TriedDisplay> {
  const { childEnvironment: env, display, width, height } = config;
  const server = await startXServer({ display, width, height, env, logger, onExit: () => undefined });
  if (!server) return { name: "Xvfb", hasStarted: false, drawings: [] };
  return probeAndStop("Xvfb", server, async () => {
    const drawings = [];
    for (const [name, game] of Object.entries(gamesOnXvfb))
      drawings.push(await draw(`OpenGL by ${name}`, ["gl", timedFrames], { ...env, ...game }));
    drawings.push(await draw("OpenGL in software", ["gl", timedFrames], { ...env, ...inSoftware }));
    return [...drawings, ...(await drawOtherwise(env))];
  });
}

async function drawOtherwise(env: Record<string, string>): Promise<Drawing[]> {
  return [await draw("EGL", ["egl", timedFrames], env), await draw("Vulkan", ["vulkan", timedFrames], env)];
}

async function probeAndStop(
  name: TriedDisplay["name"],
  server: ServerProcess,
  probe: () => Promise<Drawing[]>,
): Promise<TriedDisplay> {
  try {
    return { name, hasStarted: true, drawings: await probe() };
  } finally {
    await server.stop();
  }
}

/** Starts the display as a session with a GPU does, and measures a stream of it with each encoder. */
async function playSession(
  config: PictureConfig,
  logger: Logger,
  working: readonly Encoder[],
): Promise<Pick<MachineFindings, "session" | "streams">> {
  const { childEnvironment: env, display, width, height, framesPerSecond: fps } = config;
  const started = await startDisplay({
    choice: config.displayServer,
    profile: "gpu",
    renderNode: findRenderNode(),
    display,
    width,
    height,
    fps,
    env,
    logger,
    clock: systemClock,
    onExit: () => undefined,
  });
  if (!started) return { session: undefined, streams: [] };
  try {
    const streams = [];
    for (const encoder of withSoftware(working)) {
      const measured = measureStream({
        encoder,
        picture: { width, height, fps },
        display,
        seconds: measuredSeconds,
        gameEnv: { ...env, ...started.gameEnvironment },
        env: config.encoderEnvironments,
        clock: systemClock,
      });
      const { name, codec } = encoder;
      streams.push(
        await measured.then(
          (measurement) => ({ encoder: name, codec, ...measurement }),
          (error: unknown) => ({ encoder: name, failure: messageOf(error) }),
        ),
      );
    }
    const { renderer, obstacle, kind } = started;
    return { session: { display: kind, renderer, obstacle }, streams };
  } finally {
    await started.server.stop();
  }
}

/** Adds x264, so that hardware can be compared with it. */
function withSoftware(working: readonly Encoder[]): Encoder[] {
  const software = allEncoders.filter(({ name }) => name === "x264enc");
  return [...new Set([...working, ...software])];
}
