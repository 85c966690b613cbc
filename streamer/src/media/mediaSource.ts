import { fork, type ChildProcess } from "node:child_process";
import type { VideoCodec } from "#contracts/stream.ts";
import type { Logger } from "#runtime/logger.ts";
import { childFlags } from "../processes/childFlags.ts";
import { audioClockRate, videoClockRate } from "../rtp/clockRates.ts";
import { createContinuity } from "../rtp/continuity.ts";
import type { Encoder } from "./encoders.ts";
import type { MediaCommand, MediaReport } from "./messages.ts";
import { buildAudioPipeline, buildVideoPipeline } from "./pipelines.ts";

/** A child that ran for less time than this is started again with exponential backoff, so that a broken driver does not use up the processor. */
const healthyRunMs = 2_000;
const maxBackoffMs = 5_000;

export interface MediaSourceOptions {
  encoders: ReadonlyMap<VideoCodec, Encoder>;
  display: string;
  soundServer: string;
  soundSink: string;
  fps: number;
  env: Record<string, string>;
  log: Logger;
  /** Milliseconds, monotonic. */
  now: () => number;
}

/** Where packets go; at most one receiver at a time. */
export interface MediaReceiver {
  /** All packets of one picture. */
  onVideo(packets: Buffer[]): void;
  onAudio(packet: Buffer): void;
}

/** Captured and encoded video and audio, from a child process that is replaced when it crashes. */
export interface MediaSource {
  /** Starts an encoder for this codec, unless it runs already. */
  prepare(codec: VideoCodec): void;
  /** Captures at the full rate for this receiver, beginning with a key frame. */
  play(codec: VideoCodec, kbps: number, receiver: MediaReceiver): void;
  /** Captures at the idle rate again, in a new child. */
  stopPlaying(): void;
  setBitrate(kbps: number): void;
  requestKeyFrame(): void;
  restarts(): number;
  close(): void;
}

interface Child {
  process: ChildProcess;
  codec: VideoCodec;
  startedAt: number;
  isPlaying: boolean;
}

/** Starts the first child at once, with the preferred codec. */
export function createMediaSource(options: MediaSourceOptions): MediaSource {
  const { encoders, env, log, now } = options;
  const video = createContinuity(videoClockRate, now);
  const audio = createContinuity(audioClockRate, now);
  let receiver: MediaReceiver | undefined;
  let kbps = 0;
  let restarts = 0;
  let shortRuns = 0;
  let restartTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const encoderOf = (codec: VideoCodec): Encoder => {
    const encoder = encoders.get(codec);
    if (!encoder) throw new Error(`No encoder for ${codec} works here.`);
    return encoder;
  };
  const send = (command: MediaCommand) => {
    if (child.process.connected) child.process.send(command, () => undefined); // A child that just exited is replaced on its exit event.
  };
  const bitrateFor = (codec: VideoCodec) => kbps * encoderOf(codec).bitrateUnit;

  const handle = (report: MediaReport) => {
    if (report.type === "failed") {
      log.warn({ reason: report.message }, "The media child failed.");
      return;
    }
    if (report.type === "video") {
      const packets = report.packets.map(bufferOf);
      for (const packet of packets) video.apply(packet);
      receiver?.onVideo(packets);
    } else {
      const packet = bufferOf(report.packet);
      audio.apply(packet);
      receiver?.onAudio(packet);
    }
  };

  const spawn = (codec: VideoCodec): Child => {
    const encoder = encoderOf(codec);
    const process = fork(new URL("./mediaChild.ts", import.meta.url), { env, serialization: "advanced", execArgv: childFlags });
    const started: Child = { process, codec, startedAt: now(), isPlaying: false };
    process.on("message", (report: MediaReport) => {
      if (started === child) handle(report);
    });
    process.on("exit", (exitCode, signal) => {
      if (started === child) replaceExited(started, exitCode ?? signal);
    });
    process.on("error", (error) => log.error({ err: error }, "The media child cannot be reached."));
    const load: MediaCommand = {
      type: "load",
      video: buildVideoPipeline(encoder, options.display, options.fps),
      audio: buildAudioPipeline(options.soundServer, options.soundSink),
      bitrateProperty: encoder.bitrateProperty,
    };
    process.send(load, () => undefined);
    return started;
  };

  const startPlaying = () => {
    video.restart();
    audio.restart();
    child.isPlaying = true;
    send({ type: "play", bitrate: bitrateFor(child.codec), fps: options.fps });
  };
  const replaceExited = (exited: Child, reason: number | NodeJS.Signals | null) => {
    if (isClosed) return;
    restarts++;
    shortRuns = now() - exited.startedAt < healthyRunMs ? shortRuns + 1 : 0;
    const waitMs = shortRuns === 0 ? 0 : Math.min(maxBackoffMs, 250 * 2 ** shortRuns);
    log.warn({ reason, waitMs, wasPlaying: exited.isPlaying }, "The media child exited; another one is started.");
    restartTimer = setTimeout(() => {
      child = spawn(exited.codec);
      if (exited.isPlaying) startPlaying();
    }, waitMs);
  };
  const replaceRunning = (codec: VideoCodec) => {
    clearTimeout(restartTimer);
    const old = child;
    child = spawn(codec);
    old.process.kill("SIGKILL"); // It has nothing to save, and a hanging driver would ignore SIGTERM.
  };

  const preferred = [...encoders.keys()][0];
  if (preferred === undefined) throw new Error("A media source needs an encoder.");
  let child = spawn(preferred);

  return {
    prepare(codec) {
      if (child.codec !== codec) replaceRunning(codec);
    },
    play(codec, startKbps, newReceiver) {
      receiver = newReceiver;
      kbps = startKbps;
      if (child.codec !== codec) replaceRunning(codec);
      startPlaying();
    },
    stopPlaying() {
      receiver = undefined;
      if (child.isPlaying) replaceRunning(preferred);
    },
    setBitrate(newKbps) {
      kbps = newKbps;
      send({ type: "bitrate", bitrate: bitrateFor(child.codec) });
    },
    requestKeyFrame: () => send({ type: "keyFrame" }),
    restarts: () => restarts,
    close() {
      isClosed = true;
      clearTimeout(restartTimer);
      child.process.kill("SIGKILL");
    },
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
