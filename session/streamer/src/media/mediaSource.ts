import type { Timer } from "#runtime/scheduling/clock.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { audioClockRate, videoClockRate, packetsOf } from "../rtp/rtpPacket.ts";
import { createContinuity } from "../rtp/continuity.ts";
import type { Encoder } from "./encoders.ts";
import { startMediaProcess, type MediaProcess, type MediaProcessSettings } from "./mediaProcess.ts";
import type { MediaReport } from "./messages.ts";
import { isSameShape, type PictureShape } from "./pipelines.ts";

/**
 * A child that ran for less time than this, or hung, is started again with exponential backoff, so that a
 * broken driver does not use up the processor.
 */
const healthyRunMs = 2_000;
const maxBackoffMs = 5_000;
/**
 * A child of another shape shows its first picture within a second. A child that does not within this time
 * never will.
 */
const successionDeadlineMs = 5_000;
const watchEveryMs = 1_000;

interface MediaSourceOptions extends MediaProcessSettings {
  encoders: ReadonlyMap<VideoCodec, Encoder>;
  /** The shape of the first child. */
  shape: PictureShape;
}

/** Where packets go; at most one receiver at a time. */
interface MediaReceiver {
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
  /**
   * Goes on in another shape, from a key frame on and without a gap: a child of that shape takes over once it
   * has a picture. Resolves to whether it did; when it did not, all goes on as before.
   */
  reshape(shape: PictureShape): Promise<boolean>;
  /** The shape of the picture that is sent, or about to be. */
  shape(): PictureShape;
  setBitrate(kbps: number): void;
  requestKeyFrame(): void;
  restarts(): number;
  /** Ends the child. No other is started after it, whatever is asked for. */
  close(): void;
}

/** The child that is to take over from the present one. */
interface Successor {
  process: MediaProcess;
  settle: (hasTakenOver: boolean) => void;
}

/** Starts the first child at once, with the preferred codec. */
export function createMediaSource(options: MediaSourceOptions): MediaSource {
  const { encoders, logger, clock } = options;
  const video = createContinuity(videoClockRate, clock);
  const audio = createContinuity(audioClockRate, clock);
  let shape = options.shape;
  let receiver: MediaReceiver | undefined;
  let kbps = 0;
  let restarts = 0;
  let shortRuns = 0;
  let restart: Timer | undefined;
  let successor: Successor | undefined;
  let isClosed = false;
  const hangs = createHangDetector();
  let hung: MediaProcess | undefined;

  const handle = (report: Exclude<MediaReport, { type: "failed" }>) => {
    if (report.type === "video") {
      hangs.seen();
      const packets = packetsOf(report.picture);
      for (const packet of packets) video.apply(packet);
      receiver?.onVideo(packets);
    } else {
      const packet = bufferOf(report.packet);
      audio.apply(packet);
      receiver?.onAudio(packet);
    }
  };
  const start = (codec: VideoCodec, ofShape: PictureShape): MediaProcess => {
    const encoder = encoders.get(codec);
    if (!encoder) throw new Error(`No encoder for ${codec} works here.`);
    const started: MediaProcess = startMediaProcess({
      ...options,
      encoder,
      shape: ofShape,
      startedAt: clock.monotonicMs(),
      onReport(report) {
        if (report.type === "failed") {
          logger.warn({ reason: report.message }, "The media child failed.");
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
    if (!child.isPlaying) hangs.begin(); // Whoever comes while a child hangs does not put its end off.
    renumber();
    child.play(kbps);
  };
  const takeOver = ({ process, settle }: Successor) => {
    restart?.cancel();
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
    logger.warn(
      { reason, waitMs, wasPlaying: exited.isPlaying },
      "The media child exited; another one is started.",
    );
    restart = clock.setTimer(waitMs, () => {
      child = start(exited.codec, shape);
      if (exited.isPlaying) startPlaying();
    });
  };
  const replaceRunning = (codec: VideoCodec) => {
    if (isClosed) return;
    restart?.cancel();
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
          "The media child of another shape had no picture in time; the present one goes on.",
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
    shape: () => shape,
    restarts: () => restarts,
    close() {
      isClosed = true;
      watchTimer.cancel();
      restart?.cancel();
      abandonSuccessor();
      child.kill();
    },
  };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * A child that plays sends twenty pictures a second, also of what stands still; one that sends none for so
 * many seconds hangs in its driver.
 */
const hungSeconds = 5;
/**
 * Before its first picture a child starts: Node, GStreamer and the driver, which take their time on a busy
 * machine. The probe waits for as long for those in software.
 */
const startSeconds = 20;

/** Notices that a child hangs from which pictures are to come. */
interface HangDetector {
  /** A child begins to play: its first picture is waited for. */
  begin(): void;
  /** A picture has come. */
  seen(): void;
  /**
   * To be called once a second; returns how many seconds nothing has come for when that is too long, and then
   * counts anew.
   */
  count(isPlaying: boolean): number | undefined;
}

/**
 * Seconds are counted one by one: who was stopped as a whole for longer has not waited for the child
 * meanwhile.
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
