import { mkdirSync } from "node:fs";
import type { Drawing, NodeFindings } from "#contracts/nodeTest.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { PictureConfig } from "../config.ts";
import { probeDisplay } from "../display/displayProbe.ts";
import { findRenderNode, inSoftware, startDisplay } from "../display/startDisplay.ts";
import { encoderKind, type Encoder } from "../media/encoders.ts";
import { probeEncoders } from "../media/probe.ts";

/**
 * Enough frames for a driver that compiles shaders on the first one, and few enough for a software renderer.
 */
const timedFrames = "60";

/**
 * Probes display and encoders as a starting session does, and returns the findings.
 *
 * @throws Error when no display starts.
 */
export async function findPicture(config: PictureConfig, logger: Logger): Promise<NodeFindings> {
  const {
    display,
    width,
    height,
    framesPerSecond: fps,
    codecs,
    profile,
    displayServer: choice,
    childEnvironment: env,
    encoderEnvironments,
    workDir,
  } = config;
  mkdirSync(workDir, { recursive: true, mode: 0o700 });
  const renderNode = findRenderNode();
  const started = await startDisplay({
    choice,
    profile,
    display,
    width,
    height,
    fps,
    env,
    logger,
    clock: systemClock,
    renderNode,
    onExit: () => undefined,
  });
  if (!started) throw new Error("The display did not start.");
  try {
    const gameProbe = {
      env: { ...env, ...(profile === "software" ? inSoftware : {}), ...started.gameEnvironment },
      clock: systemClock,
    };
    const gl = await probeDisplay(["gl", timedFrames], gameProbe);
    const vulkan = await probeDisplay(["vulkan", timedFrames], gameProbe);
    const { values: extensions } = await probeDisplay(["extensions"], { env, clock: systemClock });
    const encoders = await probeEncoders({
      codecs,
      profile,
      picture: { width, height, fps },
      env: encoderEnvironments,
      logger,
      clock: systemClock,
    });
    return {
      renderer: gl.values.get("renderer") ?? started.renderer,
      ...(started.obstacle === undefined ? {} : { obstacle: started.obstacle }),
      openGl: describeDrawing(gl.values.get("glVersion"), gl.values.get("glFrameMs"), gl.failure),
      vulkan: describeDrawing(
        vulkan.values.get("vulkanDevice"),
        vulkan.values.get("vulkanFrameMs"),
        vulkan.failure,
      ),
      extensions: [...extensions.values()].sort(),
      ...describeEncoders(profile, encoders),
    };
  } finally {
    await started.server.stop();
  }
}

/** Returns the findings about working encoders, best codec first. */
export function describeEncoders(
  profile: PictureConfig["profile"],
  encoders: ReadonlyMap<VideoCodec, Encoder>,
): Pick<NodeFindings, "encoders" | "encodesInSoftware"> {
  const found = [...encoders.values()];
  const hasFallenBack = profile === "gpu" && found.every((encoder) => encoderKind(encoder) === "software");
  return {
    encoders: found.map(({ codec, name }) => ({ codec, name })),
    ...(hasFallenBack ? { encodesInSoftware: true as const } : {}),
  };
}

function describeDrawing(name = "", frameMs: string | undefined, failure: string | undefined): Drawing {
  return {
    name,
    ...(frameMs === undefined ? {} : { frameMs: Number(frameMs) }),
    ...(failure === undefined ? {} : { failure: failure.slice(0, 200) }),
  };
}
