import { mkdirSync } from "node:fs";
import type { HelloNotice, VideoCodec } from "#contracts/stream.ts";
import type { z } from "zod";
import type { Config } from "./config.ts";
import { soundSink, startSoundServer } from "./sound/soundServer.ts";
import { startWindowManager } from "./display/windowManager.ts";
import { connectDisplay } from "./display/xConnection.ts";
import { startXServer } from "./display/xServer.ts";
import { createDesktopInput } from "./input/desktopInput.ts";
import { openGamepad, type Gamepad } from "./input/gamepad.ts";
import { createInputRouter, type InputRouter } from "./input/inputRouter.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Encoder } from "./media/encoders.ts";
import { createMediaSource, type MediaSource } from "./media/mediaSource.ts";
import { probeEncoders } from "./media/probe.ts";
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
  log: Logger;
  now: () => number;
  describeStream: (codec: VideoCodec) => z.infer<typeof HelloNotice>;
  /** Called when a program that the session cannot do without has ended. */
  onFailure: (reason: PipelineFailure) => void;
}

/** The parts that make a session's stream: display, sound, input, media and viewers, all running. */
export interface StreamPipeline {
  encoders: ReadonlyMap<VideoCodec, Encoder>;
  gamepad: Gamepad;
  input: InputRouter;
  media: MediaSource;
  viewers: Viewers;
  close(): void;
}

/** Starts all parts, those that do not depend on each other at the same time. Throws PipelineStartError. */
export async function startStreamPipeline({ config, log, now, describeStream, onFailure }: StreamPipelineOptions): Promise<StreamPipeline> {
  mkdirSync(config.workDir, { recursive: true, mode: 0o700 });
  const { display, width, height, fps, childEnvironment: env, codecs, profile } = config;
  const [xServer, soundServer, gamepad, encoders] = await Promise.all([
    startXServer({ display, width, height, env, log, onExit: () => onFailure("display-failed") }),
    startSoundServer({ socket: config.soundSocket, env, log, onExit: () => onFailure("sound-failed") }),
    openGamepad({ socketPath: config.gamepadSocket, log, now: Date.now }),
    probeEncoders({ codecs, profile, picture: { width, height, fps }, env, log }),
  ]);
  if (!xServer) throw new PipelineStartError("display-failed", "The display did not start in time.");
  if (!soundServer) throw new PipelineStartError("sound-failed", "The sound server did not start in time.");
  if (encoders.size === 0) throw new PipelineStartError("no-encoder", `No encoder for ${codecs.join(" or ")} works here.`);

  const connection = await connectDisplay(display, () => onFailure("display-failed"));
  await startWindowManager({ connection, width, height, log });
  const input = createInputRouter({ desktop: createDesktopInput(connection, width, height), gamepad, now: Date.now, pacing: { now, schedule } });
  const media = createMediaSource({ encoders, display, soundServer: env.PULSE_SERVER, soundSink, fps, env, log, now });
  const viewers = createViewers({
    media, input, log, now, describeStream,
    codecs: codecs.filter((codec) => encoders.has(codec)),
    addresses: config.announceAddresses, udpPort: config.udpPort, startKbps: config.startKbps, maxKbps: config.maxKbps,
  });
  return {
    encoders, gamepad, input, media, viewers,
    close() {
      viewers.close();
      media.close();
      gamepad.close();
      soundServer.stop();
      xServer.stop();
    },
  };
}

function schedule(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}
