import type { Clock } from "#runtime/scheduling/clock.ts";
import { fork } from "node:child_process";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { Logger } from "#runtime/logger.ts";
import { childFlags } from "../processes.ts";
import { createBitratePacing } from "./bitratePacing.ts";
import { encoderKind, settingsFor, type Encoder, type EncoderEnvironments } from "./encoders.ts";
import type { MediaCommand, MediaReport } from "./messages.ts";
import {
  type PictureShape,
  buildAudioPipeline,
  buildStillPipeline,
  buildVideoPipeline,
} from "./pipelines.ts";

/** Settings shared by all media processes of a session. */
export interface MediaProcessSettings {
  /** X display name. */
  display: string;
  soundServer: string;
  soundSink: string;
  env: EncoderEnvironments;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
}

export interface MediaProcessOptions extends MediaProcessSettings {
  encoder: Encoder;
  shape: PictureShape;
  startedAt: number;
  onReport: (report: MediaReport) => void;
  onExit: (reason: number | NodeJS.Signals | null) => void;
}

/** A process that captures and encodes in one shape. */
export interface MediaProcess {
  readonly codec: VideoCodec;
  readonly shape: PictureShape;
  readonly startedAt: number;
  isPlaying: boolean;
  /** Whether it has ended or failed to start. */
  readonly hasExited: boolean;
  /** Captures at the full rate, starting with a key frame. */
  play(kbps: number): void;
  /** Sets the bitrate immediately, unless that restarts the encoder (see BitratePacing). */
  setBitrate(kbps: number): void;
  requestKeyFrame(): void;
  /** Requests a small picture of the display, which is reported as `still`. */
  takeStill(): void;
  /** Kills it immediately: it has no state to save, and a hanging driver would ignore SIGTERM. */
  kill(): void;
}

/** Starts a media process, which captures at the idle rate until it plays. */
export function startMediaProcess(options: MediaProcessOptions): MediaProcess {
  const { encoder, shape, display, logger, clock } = options;
  const process = fork(new URL("./mediaChild.ts", import.meta.url), {
    env: options.env[encoderKind(encoder)],
    serialization: "advanced",
    execArgv: childFlags,
  });
  process.on("message", (report: MediaReport) => options.onReport(report));
  let hasExited = false;
  const exit = (reason: number | NodeJS.Signals | null) => {
    hasExited = true;
    pacing?.stop();
    options.onExit(reason);
  };
  process.on("exit", (exitCode, signal) => exit(exitCode ?? signal));
  process.on("error", (error) => {
    logger.error({ err: error }, "The media child failed.");
    if (process.pid === undefined) exit(null); // A process that could not be started has no exit event.
  });
  const send = (command: MediaCommand) => {
    // A process that just exited is replaced on its exit event.
    if (process.connected) process.send(command, () => undefined);
  };
  send({
    type: "load",
    video: buildVideoPipeline(encoder, display, shape),
    audio: buildAudioPipeline(options.soundServer, options.soundSink),
  });
  const sendBitrate = (kbps: number) => send({ type: "bitrate", settings: settingsFor(encoder, kbps) });
  const pacing = encoder.restartsForBitrate ? createBitratePacing({ set: sendBitrate, clock }) : undefined;
  const started: MediaProcess = {
    codec: encoder.codec,
    shape,
    startedAt: options.startedAt,
    isPlaying: false,
    get hasExited() {
      return hasExited;
    },
    play(kbps) {
      started.isPlaying = true;
      pacing?.begin(kbps);
      send({ type: "play", settings: settingsFor(encoder, kbps), fps: shape.fps });
    },
    setBitrate: (kbps) => (pacing ? pacing.request(kbps) : sendBitrate(kbps)),
    requestKeyFrame: () => send({ type: "keyFrame" }),
    takeStill: () => send({ type: "still", pipeline: buildStillPipeline(display) }),
    kill() {
      pacing?.stop();
      process.kill("SIGKILL");
    },
  };
  return started;
}
