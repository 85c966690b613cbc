import { mkdirSync } from "node:fs";
import type { HelloNotice, VideoCodec } from "#contracts/stream.ts";
import type { z } from "zod";
import type { Config } from "./config.ts";
import { soundSink, startSoundServer } from "./display/soundServer.ts";
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

export type StageFailure = "display-failed" | "sound-failed" | "no-encoder";

/** The stage did not come up; the reason goes into the termination message. */
export class StartFailure extends Error {
  readonly reason: StageFailure;

  constructor(reason: StageFailure, message: string) {
    super(message);
    this.name = "StartFailure";
    this.reason = reason;
  }
}

export interface StageOptions {
  config: Config;
  log: Logger;
  now: () => number;
  describeStream: (codec: VideoCodec) => z.infer<typeof HelloNotice>;
  /** A program that the session cannot live without died. */
  onDeath: (reason: StageFailure) => void;
}

/** Display, sound, input, media and viewers of one session, all running. */
export interface Stage {
  encoders: ReadonlyMap<VideoCodec, Encoder>;
  gamepad: Gamepad;
  input: InputRouter;
  media: MediaSource;
  viewers: Viewers;
  close(): void;
}

/** Starts everything, what does not depend on each other at the same time. Throws StartFailure. */
export async function startStage({ config, log, now, describeStream, onDeath }: StageOptions): Promise<Stage> {
  mkdirSync(config.workDir, { recursive: true, mode: 0o700 });
  const { display, width, height, fps, childEnvironment: env, codecs, profile } = config;
  const [xServer, soundServer, gamepad, encoders] = await Promise.all([
    startXServer({ display, width, height, env, log, onDeath: () => onDeath("display-failed") }),
    startSoundServer({ socket: config.soundSocket, env, log, onDeath: () => onDeath("sound-failed") }),
    openGamepad({ socketPath: config.gamepadSocket, log, now: Date.now }),
    probeEncoders({ codecs, profile, picture: { width, height, fps }, env, log }),
  ]);
  if (!xServer) throw new StartFailure("display-failed", "The display did not start in time.");
  if (!soundServer) throw new StartFailure("sound-failed", "The sound server did not start in time.");
  if (encoders.size === 0) throw new StartFailure("no-encoder", `No encoder for ${codecs.join(" or ")} works here.`);

  const connection = await connectDisplay(display, () => onDeath("display-failed"));
  await startWindowManager({ connection, width, height, log });
  const input = createInputRouter({ desktop: createDesktopInput(connection, width, height), gamepad, now: Date.now, pacing: { now, schedule } });
  const media = createMediaSource({ encoders, display, soundServer: env.PULSE_SERVER, soundSink, fps, env, log, now });
  const viewers = createViewers({
    media, input, log, now, describeStream,
    codecs: codecs.filter((codec) => encoders.has(codec)),
    address: config.announceAddress, udpPort: config.udpPort, startKbps: config.startKbps, maxKbps: config.maxKbps,
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
