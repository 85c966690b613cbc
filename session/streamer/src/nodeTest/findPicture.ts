import { mkdirSync } from "node:fs";
import type { Drawing, NodeFindings } from "#contracts/nodeTest.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { PictureConfig } from "../config.ts";
import { probeDisplay } from "../display/displayProbe.ts";
import { findRenderNode, inSoftware, startDisplay } from "../display/startDisplay.ts";
import { kindOf, type Encoder } from "../media/encoders.ts";
import { probeEncoders } from "../media/probe.ts";

/** So many pictures are enough for a driver that compiles at the first one, and few enough for software. */
const timedFrames = "60";

/**
 * Returns what a session's picture would be made with here, as the probes of a session's start find it.
 * Throws when no display starts.
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
  const shown = await startDisplay({
    choice,
    profile,
    display,
    width,
    height,
    env,
    logger,
    clock: systemClock,
    renderNode,
    onExit: () => undefined,
  });
  if (!shown) throw new Error("The display did not start.");
  try {
    const ofGame = {
      env: { ...env, ...(profile === "software" ? inSoftware : {}), ...shown.gameEnvironment },
      clock: systemClock,
    };
    const gl = await probeDisplay(["gl", timedFrames], ofGame);
    const vulkan = await probeDisplay(["vulkan", timedFrames], ofGame);
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
      renderer: gl.values.get("renderer") ?? shown.renderer,
      ...(shown.obstacle === undefined ? {} : { obstacle: shown.obstacle }),
      openGl: drawingOf(gl.values.get("glVersion"), gl.values.get("glFrameMs"), gl.failure),
      vulkan: drawingOf(
        vulkan.values.get("vulkanDevice"),
        vulkan.values.get("vulkanFrameMs"),
        vulkan.failure,
      ),
      extensions: [...extensions.values()].sort(),
      ...encodingOf(profile, encoders),
    };
  } finally {
    await shown.server.stop();
  }
}

/** Returns what is reported of the encoders that work, best codec first. */
export function encodingOf(
  profile: PictureConfig["profile"],
  encoders: ReadonlyMap<VideoCodec, Encoder>,
): Pick<NodeFindings, "encoders" | "encodesInSoftware"> {
  const found = [...encoders.values()];
  const isMissed = profile === "gpu" && found.every((encoder) => kindOf(encoder) === "software");
  return {
    encoders: found.map(({ codec, name }) => ({ codec, name })),
    ...(isMissed ? { encodesInSoftware: true as const } : {}),
  };
}

function drawingOf(name = "", frameMs: string | undefined, failure: string | undefined): Drawing {
  return {
    name,
    ...(frameMs === undefined ? {} : { frameMs: Number(frameMs) }),
    ...(failure === undefined ? {} : { failure: failure.slice(0, 200) }),
  };
}
