import { renameSync, writeFileSync } from "node:fs";
import { limits } from "#contracts/limits.ts";
import type { SessionObservations } from "#contracts/observations.ts";
import type { GameTermination } from "#contracts/termination.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Config } from "../config.ts";
import type { StreamPipeline } from "../streamPipeline.ts";
import { readRefusals } from "./readRefusals.ts";
import { watchDisplayAndSound, type Watch } from "./watchProcess.ts";
import type { Measured } from "./meters.ts";

const lookEveryMs = 100;
/** A pod that is killed without warning leaves observations that are at most this old. */
const writeEveryMs = 5_000;
/** A window that opens shows more than its own colour for a moment, until it fills the display. */
const pictureSettleSeconds = 0.5;
const { pictureSeconds } = limits.verification;
const { bytes: pictureBytesMax } = limits.save.picture;

interface VerificationOptions {
  config: Pick<Config, "display" | "childEnvironment" | "encoderEnvironments">;
  files: NonNullable<Config["verification"]>;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs">;
  /** Returns the game's report; undefined before it starts. */
  readGame: () => GameTermination | undefined;
}

/**
 * Observes a session that the platform plays without a viewer, and writes what it has observed to a file. It
 * only watches and sends no input; the first gamepad is connected so that a game can open it.
 */
export interface Verification {
  /** Watches display, sound, windows and gamepads from now on. */
  attach(pipeline: Pick<StreamPipeline, "windows" | "gamepads">): void;
  /** Writes the file for the last time. */
  finish(): void;
}

/** Starts observing. The time counts from the game's first report. */
export function startVerification({
  config,
  files,
  logger,
  clock,
  readGame,
}: VerificationOptions): Verification {
  let startedAt: number | undefined;
  let endedAt: number | undefined;
  let attached: Pick<StreamPipeline, "windows" | "gamepads"> | undefined;
  let watch: Watch | undefined;
  let writtenAt = clock.monotonicMs();
  const observed: Omit<SessionObservations, "seconds" | "refusals" | "game" | "framesPerSecond"> = {
    version: 1,
    firstWindowSeconds: null,
    firstPictureSeconds: null,
    isMeasured: false,
    hasSound: false,
    hasOpenedGamepad: false,
    windowsOpened: 0,
    pictures: [],
  };
  let changes = 0;
  let stillsAsked = 0;
  let seenSince: number | undefined;

  const elapsedSeconds = () =>
    startedAt === undefined ? 0 : Math.round((endedAt ?? clock.monotonicMs()) - startedAt) / 1_000;
  const isPlaying = () => startedAt !== undefined && endedAt === undefined;

  const measure = ({ changes: more, isPlain, isHeard }: Measured) => {
    observed.isMeasured = true;
    if (!isPlaying()) return;
    observed.hasSound ||= isHeard;
    if (observed.firstPictureSeconds !== null) changes += more;
    seenSince = isPlain ? undefined : (seenSince ?? elapsedSeconds());
    if (seenSince !== undefined && elapsedSeconds() - seenSince >= pictureSettleSeconds)
      observed.firstPictureSeconds ??= seenSince;
  };
  const addStill = (jpeg: Buffer) => {
    const atSeconds = pictureSeconds[observed.pictures.length];
    if (atSeconds === undefined || jpeg.length > pictureBytesMax) return;
    observed.pictures.push({ atSeconds, jpeg: jpeg.toString("base64") });
  };
  const framesPerSecond = () => {
    const { firstPictureSeconds: since } = observed;
    if (since === null || elapsedSeconds() <= since) return null;
    return Math.min(1_000, Math.round((10 * changes) / (elapsedSeconds() - since)) / 10);
  };
  const write = () => {
    writtenAt = clock.monotonicMs();
    const all: SessionObservations = {
      ...observed,
      seconds: elapsedSeconds(),
      framesPerSecond: framesPerSecond(),
      refusals: readRefusals(files.refusalsPath),
      game: readGame() ?? null,
    };
    try {
      writeFileSync(`${files.file}.new`, JSON.stringify(all));
      renameSync(`${files.file}.new`, files.file);
    } catch (error) {
      logger.error({ err: error }, "The observations could not be written.");
    }
  };
  const lookAtWindows = () => {
    if (!attached) return;
    observed.windowsOpened = attached.windows.count().opened;
    if (observed.windowsOpened > 0) observed.firstWindowSeconds ??= elapsedSeconds();
    observed.hasOpenedGamepad ||= attached.gamepads.isOpen();
  };
  const look = () => {
    const game = readGame();
    if (game !== undefined) startedAt ??= clock.monotonicMs();
    if (!isPlaying()) return;
    lookAtWindows();
    if (elapsedSeconds() >= (pictureSeconds[stillsAsked] ?? Infinity)) {
      stillsAsked++;
      watch?.takeStill();
    }
    const hasEnded = game?.state === "ended";
    if (hasEnded) endedAt = clock.monotonicMs();
    if (hasEnded || clock.monotonicMs() - writtenAt >= writeEveryMs) write();
  };
  const timer = setInterval(look, lookEveryMs);

  return {
    attach(pipeline) {
      attached = pipeline;
      pipeline.gamepads.connect(0);
      watch = watchDisplayAndSound({
        display: config.display,
        soundServer: config.childEnvironment.PULSE_SERVER,
        env: config.encoderEnvironments.software,
        logger,
        onMeasured: measure,
        onStill: addStill,
      });
    },
    finish() {
      look();
      clearInterval(timer);
      watch?.close();
      write();
    },
  };
}
