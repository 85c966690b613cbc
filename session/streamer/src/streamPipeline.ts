import { mkdirSync } from "node:fs";
import type { HelloNotice, StreamerStatus } from "#contracts/stream.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { StreamQuality } from "#contracts/streamQuality.ts";
import type { z } from "zod";
import type { Config } from "./config.ts";
import { soundSink, startSoundServer } from "./sound/soundServer.ts";
import { startWindowManager, type WindowManager } from "./display/windowManager.ts";
import { connectDisplay } from "./display/xConnection.ts";
import {
  writeGameEnvironment,
  isProbed,
  startDisplay,
  type StartedDisplay,
  findRenderNode,
} from "./display/startDisplay.ts";
import { displaySocket } from "./display/displayServers.ts";
import { createDesktopInput } from "./input/desktopInput.ts";
import { openGamepad, type Gamepad } from "./input/gamepad.ts";
import { createInputRouter, type InputRouter } from "./input/inputRouter.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Encoder } from "./media/encoders.ts";
import { createMediaSource, type MediaSource } from "./media/mediaSource.ts";
import { probeEncoders } from "./media/probe.ts";
import { removeStale } from "./processes.ts";
import { createViewers, type Viewers } from "./transport/viewers.ts";

/** Why a pipeline could not start, or ended. */
export type PipelineFailure = "display-failed" | "sound-failed" | "no-encoder";

/** The pipeline could not start; the reason goes into the termination message. */
export class PipelineStartError extends Error {
  readonly reason: PipelineFailure;

  constructor(reason: PipelineFailure, message: string) {
    super(message);
    this.name = "PipelineStartError";
    this.reason = reason;
  }
}

export interface StreamPipelineOptions {
  config: Config;
  logger: Logger;
  clock: Clock;
  describeStream: (codec: VideoCodec, quality: StreamQuality) => z.infer<typeof HelloNotice>;
  /** Called when a program that the session cannot do without has ended. */
  onFailure: (reason: PipelineFailure) => void;
}

/** The parts that make a session's stream: display, sound, input, media and viewers, all running. */
export interface StreamPipeline {
  encoders: ReadonlyMap<VideoCodec, Encoder>;
  /** What was found to make the picture. */
  picture: NonNullable<StreamerStatus["picture"]>;
  gamepad: Gamepad;
  input: InputRouter;
  media: MediaSource;
  viewers: Viewers;
  windows: WindowManager;
  close(): void;
}

/** Starts all parts, those that do not depend on each other at the same time. Throws PipelineStartError. */
export async function startStreamPipeline({
  config,
  logger,
  clock,
  describeStream,
  onFailure,
}: StreamPipelineOptions): Promise<StreamPipeline> {
  mkdirSync(config.workDir, { recursive: true, mode: 0o700 });
  const {
    display,
    width,
    height,
    quality,
    childEnvironment,
    encoderEnvironments: env,
    codecs,
    profile,
  } = config;
  const [shown, soundServer, gamepad, encoders] = await Promise.all([
    ...startDisplayAndSound({ config, logger, clock, describeStream, onFailure }),
    openGamepad({ socketPath: config.gamepadSocket, logger, clock }),
    probeEncoders({
      codecs,
      profile,
      picture: { width, height, fps: quality.fps },
      env,
      logger,
      clock,
    }),
  ]);
  if (!shown) throw new PipelineStartError("display-failed", "The display did not start in time.");
  if (!soundServer) throw new PipelineStartError("sound-failed", "The sound server did not start in time.");
  if (encoders.size === 0)
    throw new PipelineStartError("no-encoder", `No encoder for ${codecs.join(" or ")} works here.`);

  const connection = await connectDisplay(display, () => onFailure("display-failed"));
  const windows = await startWindowManager({ connection, logger });
  const media = createMediaSource({
    encoders,
    display,
    shape: quality,
    soundServer: childEnvironment.PULSE_SERVER,
    soundSink,
    env,
    logger,
    clock,
  });
  const input = createInputRouter({
    desktop: createDesktopInput(connection, () => media.shape()),
    gamepad,
    clock,
  });
  const viewers = createViewers({
    media,
    input,
    logger,
    clock,
    describeStream,
    codecs: codecs.filter((codec) => encoders.has(codec)),
    addresses: config.announceAddresses,
    udpPort: config.udpPort,
    startKbps: config.startKbps,
    bounds: config.bounds,
    quality,
  });
  const { renderer, obstacle } = shown;
  return {
    encoders,
    gamepad,
    input,
    media,
    viewers,
    windows,
    picture: {
      renderer,
      ...connection.size,
      maxFps: quality.fps,
      ...(obstacle === undefined ? {} : { obstacle }),
    },
    close() {
      viewers.close();
      media.close();
      gamepad.close();
      void soundServer.stop();
      void shown.server.stop();
    },
  };
}

/**
 * Starts both at the same time, except where a probe decides for the display: the game starts when it sees
 * both, and must not start on a display that is only tried.
 */
function startDisplayAndSound({ config, logger, clock, onFailure }: StreamPipelineOptions) {
  const {
    display,
    width,
    height,
    profile,
    childEnvironment: env,
    displayServer: choice,
    soundSocket,
    runDir,
  } = config;
  const startSound = () =>
    startSoundServer({ socket: soundSocket, env, logger, onExit: () => onFailure("sound-failed") });
  const options = {
    choice,
    profile,
    display,
    width,
    height,
    env,
    logger,
    clock,
    renderNode: findRenderNode(),
    onExit: () => onFailure("display-failed"),
  };
  if (!isProbed(options)) return [startDisplay(options), startSound()] as const;
  // A streamer that was killed left these behind.
  for (const stale of [soundSocket, displaySocket(display)]) removeStale(stale, logger);
  const shown = startDisplay(options).then((started: StartedDisplay | undefined) => {
    if (started) writeGameEnvironment(runDir, started.gameEnvironment);
    return started;
  });
  return [shown, shown.then(startSound)] as const;
}
