import { mkdirSync } from "node:fs";
import type { HelloNotice, StreamerStatus } from "#contracts/stream.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { StreamQuality } from "#contracts/streamQuality.ts";
import type { z } from "zod";
import type { Config } from "./config.ts";
import { soundSink, startSoundServer } from "./sound/soundServer.ts";
import { startWindowManager, type WindowManager } from "./display/windowManager.ts";
import { openCloseSocket } from "./display/closeSocket.ts";
import { type XConnection, connectDisplay } from "./display/xConnection.ts";
import { watchCursor } from "./display/cursorWatch.ts";
import { readKeyboardMap } from "./display/keyboardMap.ts";
import {
  writeGameEnvironment,
  isProbed,
  startDisplay,
  type StartedDisplay,
  findRenderNode,
} from "./display/startDisplay.ts";
import { displaySocket } from "./display/displayServers.ts";
import { createDesktopInput } from "./input/desktopInput.ts";
import { rumbleMs } from "./input/forceFeedback.ts";
import { createGamePointer } from "./input/gamePointer.ts";
import { openGamepads, type Gamepads } from "./input/gamepads.ts";
import { createKeyText } from "./input/keyText.ts";
import { createInputRouter, type InputRouter } from "./input/inputRouter.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Encoder } from "./media/encoders.ts";
import { createMediaSource, type MediaSource } from "./media/mediaSource.ts";
import { probeEncoders } from "./media/probe.ts";
import { removeStale } from "./processes.ts";
import { createViewers, type Viewers } from "./transport/viewers.ts";

/** Why a pipeline failed to start or ended. */
export type PipelineFailure = "display-failed" | "sound-failed" | "no-encoder";

/** The pipeline failed to start. The reason goes into the termination message. */
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
  /** Called when a process that the session depends on has ended. */
  onFailure: (reason: PipelineFailure) => void;
}

/** The running parts of a session's stream: display, sound, input, media and viewers. */
export interface StreamPipeline {
  encoders: ReadonlyMap<VideoCodec, Encoder>;
  /** What renders the picture, as found by the probes. */
  picture: NonNullable<StreamerStatus["picture"]>;
  gamepads: Gamepads;
  input: InputRouter;
  media: MediaSource;
  viewers: Viewers;
  windows: WindowManager;
  close(): void;
}

/**
 * Starts all parts, independent ones in parallel.
 *
 * @throws PipelineStartError
 */
export async function startStreamPipeline(options: StreamPipelineOptions): Promise<StreamPipeline> {
  const { config, logger, clock, describeStream } = options;
  const { display, width, height, quality, codecs } = config;
  const env = config.encoderEnvironments;
  mkdirSync(config.workDir, { recursive: true, mode: 0o700 });
  // Before the game, which starts when it sees display and sound.
  const gamepads = openGamepads({ directory: config.gamepadDirectory, logger, clock });
  const [desktop, soundServer, encoders] = await Promise.all([
    ...startDesktopAndSound(options),
    probeEncoders({
      codecs,
      profile: config.profile,
      picture: { width, height, fps: quality.fps },
      env,
      logger,
      clock,
    }),
  ]);
  if (!desktop) throw new PipelineStartError("display-failed", "The display did not start in time.");
  if (!soundServer) throw new PipelineStartError("sound-failed", "The sound server did not start in time.");
  if (encoders.size === 0)
    throw new PipelineStartError("no-encoder", `No encoder for ${codecs.join(" or ")} works on this node.`);

  const { connection, windows, started } = desktop;
  const cursor = await watchCursor({ connection, clock });
  const closeSocket = await openCloseSocket({ socketPath: config.closeSocket, windows, logger });
  const keyboard = await readKeyboardMap(connection);
  const media = createMediaSource({
    encoders,
    display,
    shape: quality,
    soundServer: config.childEnvironment.PULSE_SERVER,
    soundSink,
    env,
    logger,
    clock,
  });
  const input = createInputRouter({
    desktop: createDesktopInput({
      connection,
      picture: () => media.shape(),
      pointer: createGamePointer({ clock, isHidden: () => cursor.isHidden() }),
      text: createKeyText({ map: keyboard, clock }),
      clock,
    }),
    gamepads,
    clock,
  });
  const viewers = createViewers({
    media,
    input,
    logger,
    clock,
    describeStream,
    isPointerHidden: () => cursor.isHidden(),
    codecs: codecs.filter((codec) => encoders.has(codec)),
    addresses: config.announceAddresses,
    udpPort: config.udpPort,
    startKbps: config.startKbps,
    bounds: config.bounds,
    quality,
  });
  cursor.onChange((hidden) => viewers.notify({ t: "pointer", hidden }));
  gamepads.onRumble((i, rumble) => viewers.notifyPlayer({ t: "rumble", i, ...rumble, ms: rumbleMs }));
  const { renderer, obstacle, server: displayServer } = started;
  return {
    encoders,
    gamepads,
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
      gamepads.close();
      closeSocket.close();
      void soundServer.stop();
      void displayServer.stop();
    },
  };
}

/** A display with its window manager. */
interface Desktop {
  started: StartedDisplay;
  connection: XConnection;
  windows: WindowManager;
}

/**
 * Starts display and sound in parallel, unless a probe chooses the display. The game starts as soon as it
 * sees both sockets, so that of the sound server appears last: the display has its modes then, is not only
 * being tried, and has a window manager. Toolkits look for one only once. Without it, GLFW's window bypasses
 * every manager that starts later, and never gets the focus.
 */
function startDesktopAndSound({ config, logger, clock, onFailure }: StreamPipelineOptions) {
  const { display, width, height, profile, childEnvironment: env, soundSocket } = config;
  const displayOptions = {
    choice: config.displayServer,
    profile,
    display,
    width,
    height,
    fps: config.bounds.maxFps,
    env,
    logger,
    clock,
    renderNode: findRenderNode(),
    onExit: () => onFailure("display-failed"),
  };
  const manage = async (started: StartedDisplay | undefined): Promise<Desktop | undefined> => {
    if (!started) return undefined;
    const connection = await connectDisplay(display, () => onFailure("display-failed"));
    return { started, connection, windows: await startWindowManager({ connection, logger }) };
  };
  const startSound = (publishAfter: Promise<unknown>) =>
    startSoundServer({
      socket: soundSocket,
      publishAfter,
      env,
      logger,
      onExit: () => onFailure("sound-failed"),
    });
  if (!isProbed(displayOptions)) {
    const managing = startDisplay(displayOptions).then(manage);
    return [managing, startSound(managing)] as const;
  }
  // Left behind by a streamer that was killed.
  for (const stale of [soundSocket, displaySocket(display)]) removeStale(stale, logger);
  const starting = startDisplay(displayOptions).then((started: StartedDisplay | undefined) => {
    if (started) writeGameEnvironment(config.runDir, started.gameEnvironment);
    return started;
  });
  const managing = starting.then(manage);
  return [managing, starting.then(() => startSound(managing))] as const;
}
