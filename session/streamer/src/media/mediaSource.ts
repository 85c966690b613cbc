import type { Timer } from "#runtime/scheduling/clock.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { audioClockRate, videoClockRate, splitPackets } from "../rtp/rtpPacket.ts";
import { createContinuity } from "../rtp/continuity.ts";
import type { Encoder } from "./encoders.ts";
import { startMediaProcess, type MediaProcess, type MediaProcessSettings } from "./mediaProcess.ts";
import type { MediaReport } from "./messages.ts";
import { isSameShape, type PictureShape } from "./pipelines.ts";

/**
 * A process that ran for less time than this, or hung, is restarted with exponential backoff, so that a
 * broken driver does not use up the processor.
 */
const healthyRunMs = 2_000;
const maxBackoffMs = 5_000;
/**
 * A process of another shape has its first picture within a second. If it takes this long, it will never have
 * one.
 */
const successionDeadlineMs = 5_000;
const watchEveryMs = 1_000;

interface MediaSourceOptions extends MediaProcessSettings {
  encoders: ReadonlyMap<VideoCodec, Encoder>;
  /** Shape of the first media process. */
  shape: PictureShape;
}

/** Receives the packets. At most one receiver at a time. */
interface MediaReceiver {
  /** All packets of one picture. */
  onVideo(packets: Buffer[]): void;
  onAudio(packet: Buffer): void;
}

/** Captured and encoded video and audio, from a process that is replaced when it crashes. */
export interface MediaSource {
  /** Starts an encoder for this codec unless it is already running. */
  prepare(codec: VideoCodec): void;
  /** Captures at the full rate for this receiver, starting with a key frame. */
  play(codec: VideoCodec, kbps: number, receiver: MediaReceiver): void;
  /** Returns to the idle rate, in a new process. */
  stopPlaying(): void;
  /**
   * Switches to another shape at a key frame and without a gap: a process of that shape takes over once it
   * has a picture. Resolves to whether it did; otherwise everything continues unchanged.
   */
  reshape(shape: PictureShape): Promise<boolean>;
  /** Returns the shape of the picture that is sent or about to be sent. */
  shape(): PictureShape;
  setBitrate(kbps: number): void;
  requestKeyFrame(): void;
  /** Takes a small JPEG of the display, and calls `onStill` unless that fails. */
  takeStill(onStill: (jpeg: Buffer) => void): void;
  restarts(): number;
  /** Ends the process. No other is started afterwards. */
  close(): void;
}

/** The process that will replace the current one. */
interface Successor {
  process: MediaProcess;
  settle: (hasTakenOver: boolean) => void;
}

/** Starts the first process immediately, with the preferred codec. */
export function createMediaSource(options: MediaSourceOptions): MediaSource {
  const { encoders, logger, clock } = options;
  const video = createContinuity(videoClockRate, clock);
  const audio = createContinuity(audioClockRate, clock);
  let shape = options.shape;
  let receiver: MediaReceiver | undefined;
  let kbps = 0;
  let restarts = 0;
  let shortRuns = 0;
  let restartTimer: Timer | undefined;
  let successor: Successor | undefined;
  let isClosed = false;
  const hangs = createHangDetector();
  let hung: MediaProcess | undefined;
  let onStill: ((jpeg: Buffer) => void) | undefined;
  /** Whether it was logged. */
  let hasNoStill = false;

  const handle = (report: Extract<MediaReport, { type: "video" | "audio" }>) => {
    if (report.type === "video") {
      hangs.seen();
      const packets = splitPackets(report.picture);
      for (const packet of packets) video.apply(packet);
      receiver?.onVideo(packets);
    } else {
      const packet = bufferOf(report.packet);
      audio.apply(packet);
      receiver?.onAudio(packet);
    }
  };
  const start = (codec: VideoCodec, processShape: PictureShape): MediaProcess => {
    const encoder = encoders.get(codec);
    if (!encoder) throw new Error(`No encoder for ${codec} works on this node.`);
    const started: MediaProcess = startMediaProcess({
      ...options,
      encoder,
      shape: processShape,
      startedAt: clock.monotonicMs(),
      onReport(report) {
        if (report.type === "failed") {
          logger.warn({ reason: report.message }, "The media child failed.");
          return;
        }
        if (report.type === "noStill") {
          if (!hasNoStill) logger.warn({ reason: report.message }, "No pictures for saves can be taken.");
          hasNoStill = true;
          return;
        }
        if (report.type === "still") {
          onStill?.(bufferOf(report.jpeg));
          return;
        }
        if (started === successor?.process && report.type === "video") takeOver(successor);
        if (started === child) handle(report);
      },
      onExit(reason) {
        if (started === successor?.process) successor.settle(false);
        else if (started === child) replaceExited(started, reason);
      },
    });
    return started;
  };

  const watch = () => {
    watchTimer = clock.setTimer(watchEveryMs, watch);
    const seconds = hangs.count(child.isPlaying && !child.hasExited);
    if (seconds === undefined) return;
    logger.warn({ seconds }, "The media child hangs and is killed.");
    hung = child;
    child.kill();
  };
  const renumber = () => {
    video.restart();
    audio.restart();
  };
  const startPlaying = () => {
    if (!child.isPlaying) hangs.begin(); // A new viewer must not extend the deadline of a process that hangs.
    renumber();
    child.play(kbps);
  };
  const takeOver = ({ process, settle }: Successor) => {
    restartTimer?.cancel();
    const old = child;
    child = process;
    shape = process.shape;
    renumber();
    settle(true);
    old.kill();
  };
  const replaceExited = (exited: MediaProcess, reason: number | NodeJS.Signals | null) => {
    if (isClosed) return;
    restarts++;
    shortRuns = exited === hung || clock.monotonicMs() - exited.startedAt < healthyRunMs ? shortRuns + 1 : 0;
    const waitMs = shortRuns === 0 ? 0 : Math.min(maxBackoffMs, 250 * 2 ** shortRuns);
    logger.warn({ reason, waitMs, wasPlaying: exited.isPlaying }, "The media child exited and is restarted.");
    restartTimer = clock.setTimer(waitMs, () => {
      child = start(exited.codec, shape);
      if (exited.isPlaying) startPlaying();
    });
  };
  const replaceRunning = (codec: VideoCodec) => {
    if (isClosed) return;
    restartTimer?.cancel();
    abandonSuccessor();
    const old = child;
    child = start(codec, shape);
    old.kill();
  };
  const abandonSuccessor = () => {
    const abandoned = successor;
    abandoned?.settle(false);
    abandoned?.process.kill();
  };
  const succeed = (codec: VideoCodec, next: PictureShape): Promise<boolean> =>
    new Promise((resolve) => {
      const process = start(codec, next);
      const deadline = clock.setTimer(successionDeadlineMs, () => {
        logger.warn(
          { shape: next, deadlineMs: successionDeadlineMs },
          "The media child for the new quality had no picture in time. The current one continues.",
        );
        abandonSuccessor();
      });
      successor = {
        process,
        settle(hasTakenOver) {
          deadline.cancel();
          successor = undefined;
          resolve(hasTakenOver);
        },
      };
      process.play(kbps);
    });

  const preferred = [...encoders.keys()][0];
  if (preferred === undefined) throw new Error("A media source needs an encoder.");
  let child = start(preferred, shape);
  let watchTimer = clock.setTimer(watchEveryMs, watch);

  return {
    prepare(codec) {
      if (child.codec !== codec) replaceRunning(codec);
    },
    play(codec, startKbps, newReceiver) {
      receiver = newReceiver;
      kbps = startKbps;
      if (child.codec !== codec) replaceRunning(codec);
      successor?.process.setBitrate(kbps);
      startPlaying();
    },
    stopPlaying() {
      receiver = undefined;
      if (child.isPlaying) replaceRunning(preferred);
    },
    async reshape(next) {
      if (isClosed) return false;
      abandonSuccessor();
      if (isSameShape(next, shape)) return true;
      if (child.isPlaying) return succeed(child.codec, next);
      shape = next;
      replaceRunning(child.codec);
      return true;
    },
    setBitrate(newKbps) {
      kbps = newKbps;
      child.setBitrate(kbps);
      successor?.process.setBitrate(kbps);
    },
    requestKeyFrame: () => child.requestKeyFrame(),
    takeStill(receive) {
      onStill = receive;
      child.takeStill();
    },
    shape: () => shape,
    restarts: () => restarts,
    close() {
      isClosed = true;
      watchTimer.cancel();
      restartTimer?.cancel();
      abandonSuccessor();
      child.kill();
    },
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * A playing process sends twenty pictures a second, even of a still display. One that sends none for this
 * many seconds hangs in its driver.
 */
const hungSeconds = 5;
/**
 * Before the first picture Node, GStreamer and the driver have to start, which takes time on a busy machine.
 * Matches the probe's deadline for software encoders.
 */
const startSeconds = 20;

/** Detects a process that sends no pictures although it should. */
interface HangDetector {
  /** A process starts playing: waits for its first picture. */
  begin(): void;
  /** A picture has arrived. */
  seen(): void;
  /**
   * Call it once a second. Returns the number of seconds without pictures if that is too long, and restarts
   * the count.
   */
  count(isPlaying: boolean): number | undefined;
}

/**
 * Counts calls, not time: if the whole streamer was paused, the process could not send anything meanwhile.
 */
function createHangDetector(): HangDetector {
  let silentSeconds = 0;
  let hasPicture = false;
  return {
    begin() {
      silentSeconds = 0;
      hasPicture = false;
    },
    seen() {
      silentSeconds = 0;
      hasPicture = true;
    },
    count(isPlaying) {
      silentSeconds = isPlaying ? silentSeconds + 1 : 0;
      if (silentSeconds < (hasPicture ? hungSeconds : startSeconds)) return undefined;
      const seconds = silentSeconds;
      silentSeconds = 0;
      return seconds;
    },
  };
}
