import { fork, type ChildProcess } from "node:child_process";
import type { VideoCodec } from "#contracts/stream.ts";
import type { Logger } from "#runtime/logger.ts";
import { childFlags } from "./childFlags.ts";
import { createContinuity } from "./continuity.ts";
import type { Encoder } from "./encoders.ts";
import type { MediaCommand, MediaReport } from "./messages.ts";
import { buildAudioPipeline, buildVideoPipeline } from "./pipelines.ts";

const videoClockRate = 90_000;
const audioClockRate = 48_000;
/** A child that lived shorter than this is started again with growing pauses, so that a broken driver does not burn the CPU. */
const healthyLifeMs = 2_000;
const maxPauseMs = 5_000;

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

/** Captured and encoded video and audio, from a child that may crash and is then replaced. */
export interface MediaSource {
  /** Has an encoder for this codec ready. */
  prepare(codec: VideoCodec): void;
  /** Captures at the full rate for this receiver, from a key frame on. */
  play(codec: VideoCodec, kbps: number, receiver: MediaReceiver): void;
  /** Captures at the idle rate again, in a fresh child. */
  rest(): void;
  setBitrate(kbps: number): void;
  requestKeyFrame(): void;
  restarts(): number;
  close(): void;
}

interface Child {
  process: ChildProcess;
  codec: VideoCodec;
  bornAt: number;
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
  let shortLives = 0;
  let pause: NodeJS.Timeout | undefined;
  let isClosed = false;

  const encoderOf = (codec: VideoCodec): Encoder => {
    const encoder = encoders.get(codec);
    if (!encoder) throw new Error(`No encoder for ${codec} works here.`);
    return encoder;
  };
  const tell = (command: MediaCommand) => {
    if (child.process.connected) child.process.send(command, () => undefined); // a child that just died is replaced on its exit
  };
  const bitrateFor = (codec: VideoCodec) => kbps * encoderOf(codec).bitrateUnit;

  const hear = (report: MediaReport) => {
    if (report.type === "failed") {
      log.warn({ reason: report.message }, "The media child gave up.");
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
    const born: Child = { process, codec, bornAt: now(), isPlaying: false };
    process.on("message", (report: MediaReport) => {
      if (born === child) hear(report);
    });
    process.on("exit", (exitCode, signal) => {
      if (born === child) replaceDead(born, exitCode ?? signal);
    });
    process.on("error", (error) => log.error({ err: error }, "The media child cannot be reached."));
    const load: MediaCommand = {
      type: "load",
      video: buildVideoPipeline(encoder, options.display, options.fps),
      audio: buildAudioPipeline(options.soundServer, options.soundSink),
      bitrateProperty: encoder.bitrateProperty,
    };
    process.send(load, () => undefined);
    return born;
  };

  const startPlaying = () => {
    video.restart();
    audio.restart();
    child.isPlaying = true;
    tell({ type: "play", bitrate: bitrateFor(child.codec), fps: options.fps });
  };
  const replaceDead = (dead: Child, reason: number | NodeJS.Signals | null) => {
    if (isClosed) return;
    restarts++;
    shortLives = now() - dead.bornAt < healthyLifeMs ? shortLives + 1 : 0;
    const waitMs = shortLives === 0 ? 0 : Math.min(maxPauseMs, 250 * 2 ** shortLives);
    log.warn({ reason, waitMs, wasPlaying: dead.isPlaying }, "The media child died; another one takes its place.");
    pause = setTimeout(() => {
      child = spawn(dead.codec);
      if (dead.isPlaying) startPlaying();
    }, waitMs);
  };
  const replaceLiving = (codec: VideoCodec) => {
    clearTimeout(pause);
    const old = child;
    child = spawn(codec);
    old.process.kill("SIGKILL"); // nothing to save, and a hanging driver would ignore anything softer
  };

  const preferred = [...encoders.keys()][0];
  if (preferred === undefined) throw new Error("A media source needs an encoder.");
  let child = spawn(preferred);

  return {
    prepare(codec) {
      if (child.codec !== codec) replaceLiving(codec);
    },
    play(codec, startKbps, newReceiver) {
      receiver = newReceiver;
      kbps = startKbps;
      if (child.codec !== codec) replaceLiving(codec);
      startPlaying();
    },
    rest() {
      receiver = undefined;
      if (child.isPlaying) replaceLiving(preferred);
    },
    setBitrate(newKbps) {
      kbps = newKbps;
      tell({ type: "bitrate", bitrate: bitrateFor(child.codec) });
    },
    requestKeyFrame: () => tell({ type: "keyFrame" }),
    restarts: () => restarts,
    close() {
      isClosed = true;
      clearTimeout(pause);
      child.process.kill("SIGKILL");
    },
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
