import { fork, spawn, type ChildProcess } from "node:child_process";
import type { Clock } from "#runtime/scheduling/clock.ts";
import {
  encoderKind,
  settingsFor,
  type Encoder,
  type EncoderEnvironments,
  type Picture,
} from "../media/encoders.ts";
import type { MediaCommand, MediaReport } from "../media/messages.ts";
import { audioSink, buildVideoPipeline } from "../media/pipelines.ts";
import { childFlags } from "../processes.ts";
import { processorTimes, type ProcessorTimes } from "./processorTimes.ts";

/** The stream's default limit. */
const kbps = 8_000;
/** A driver needs up to three seconds to start, a busy software encoder longer. */
const startDeadlineMs = 10_000;
/** What follows the first picture is not measured: encoders start with a key frame. */
const settleMs = 1_000;
/** Takes the place of the sound server. */
const silence = `audiotestsrc is-live=true wave=silence ! appsink name=${audioSink} sync=false max-buffers=100`;

interface StreamOptions {
  encoder: Encoder;
  picture: Picture;
  display: string;
  seconds: number;
  /** Environment of the program that draws in the game's place. */
  gameEnv: Record<string, string>;
  env: EncoderEnvironments;
  clock: Pick<Clock, "sleep" | "monotonicMs">;
}

/** What a stream achieved, each per second. */
export interface StreamMeasurement {
  drawnFrames: number;
  sentFrames: number;
  sentKbits: number;
  /** Used seconds, which are cores. */
  processor: ProcessorTimes;
}

/**
 * Draws a moving picture while the session's media process captures and encodes it.
 *
 * @throws Error when no picture is sent.
 */
export async function measureStream(options: StreamOptions): Promise<StreamMeasurement> {
  const { seconds, gameEnv, clock } = options;
  const game = spawn("displayprobe", ["play", "600"], { env: gameEnv, stdio: ["ignore", "pipe", "ignore"] });
  const drawn: number[] = [];
  game.on("error", () => undefined); // Without frames the measurement shows it.
  game.stdout.setEncoding("utf8").on("data", (text: string) => {
    for (const [, frames] of text.matchAll(/^frames (\d+)$/gm)) drawn.push(Number(frames));
  });
  const media = startMedia(options);
  try {
    await media.firstPicture;
    await clock.sleep(settleMs);
    const [begin, before] = [clock.monotonicMs(), { ...media.sent, ...processorTimes(media.child.pid) }];
    drawn.length = 0;
    await clock.sleep(seconds * 1_000);
    const after = { ...media.sent, ...processorTimes(media.child.pid) };
    const elapsed = (clock.monotonicMs() - begin) / 1_000;
    const rate = (name: keyof typeof before) => (after[name] - before[name]) / elapsed;
    return {
      drawnFrames: drawn.reduce((sum, frames) => sum + frames, 0) / Math.max(1, drawn.length),
      sentFrames: rate("pictures"),
      sentKbits: (rate("bytes") * 8) / 1_000,
      processor: { game: rate("game"), display: rate("display"), stream: rate("stream") },
    };
  } finally {
    media.child.kill("SIGKILL");
    game.kill("SIGKILL");
  }
}

interface RunningMedia {
  child: ChildProcess;
  sent: { pictures: number; bytes: number };
  firstPicture: Promise<void>;
}

function startMedia({ encoder, display, picture, env }: StreamOptions): RunningMedia {
  const child = fork(new URL("../media/mediaChild.ts", import.meta.url), {
    env: env[encoderKind(encoder)],
    serialization: "advanced",
    execArgv: childFlags,
  });
  const sent = { pictures: 0, bytes: 0 };
  const firstPicture = new Promise<void>((resolve, reject) => {
    const give = (reason: string) => reject(new Error(reason));
    const deadline = setTimeout(() => give(`no picture came within ${startDeadlineMs} ms`), startDeadlineMs);
    child.on("message", (report: MediaReport) => {
      if (report.type === "failed") give(report.message);
      if (report.type !== "video") return;
      sent.pictures++;
      sent.bytes += report.picture.byteLength;
      clearTimeout(deadline);
      resolve();
    });
    child.once("exit", (code, signal) =>
      give(`the media process exited with ${code ?? signal ?? "nothing"}`),
    );
  });
  const send = (command: MediaCommand) => child.send(command, () => undefined);
  const shape = { preset: "auto" as const, ...picture };
  send({ type: "load", video: buildVideoPipeline(encoder, display, shape), audio: silence });
  send({ type: "play", settings: settingsFor(encoder, kbps), fps: picture.fps });
  return { child, sent, firstPicture };
}
