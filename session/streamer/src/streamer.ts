import type { Clock } from "#runtime/scheduling/clock.ts";
import type { HelloNotice, StreamNotice } from "#contracts/stream.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { StreamQuality } from "#contracts/streamQuality.ts";
import type { GameTermination, StreamerTermination } from "#contracts/termination.ts";
import type { z } from "zod";
import type { Config } from "./config.ts";
import type { Logger } from "#runtime/logger.ts";
import { takeMomentPictures, type MomentPictures } from "./saves/momentPictures.ts";
import { startPacker } from "./saves/packerProcess.ts";
import { createSignalServer } from "./signalling/signalServer.ts";
import { createTickets } from "./signalling/tickets.ts";
import { renderMetrics, collectMetrics, presentStatus, createThroughputMeter } from "./status.ts";
import { PipelineStartError, startStreamPipeline, type StreamPipeline } from "./streamPipeline.ts";
import { createUsageReader, createTerminationLog } from "./termination/terminationReport.ts";
import { watchGame, type GameWatcher } from "./termination/gameWatcher.ts";
import { StreamMeter, type StreamReading } from "./termination/streamMeter.ts";
import { noTotals } from "./transport/viewers.ts";
import { startVerification } from "./verification/verification.ts";

const reportEveryMs = 2_000;
const measureEveryMs = 1_000;
/** How long an offer waits for a streamer that is starting. The API waits a little longer for the answer. */
const pendingOfferMs = 8_000;
/**
 * The game starts once the streamer has started. After this time there is processor time for deferred work.
 */
const launchSettleMs = 1_500;
/** Time for the last notice to leave before the transport closes. */
const lastNoticeMs = 700;
/**
 * A game that loses its sound, or its display while drawing, ends within this time, and its supervisor
 * reports it.
 */
const gameEndDeadlineMs = 1_500;
const gameEndPollMs = 50;

/** How a streamer ended. */
export type EndReason = NonNullable<StreamerTermination["reason"]>;

export interface StreamerOptions {
  config: Config;
  logger: Logger;
  clock: Clock;
  /** Called when the streamer has stopped, for any reason. The process has nothing more to do. */
  onStopped: (reason: EndReason) => void;
}

/** A session's streamer: the stream pipeline and its status, metrics and reports. */
export interface Streamer {
  stop(reason: EndReason): Promise<void>;
}

/**
 * Returns whether the game ends shortly after its streamer failed. If so, its saves are packed now, because
 * no other streamer is started.
 */
async function waitForGameEnd(game: GameWatcher, clock: Clock): Promise<boolean> {
  const givesUpAt = clock.monotonicMs() + gameEndDeadlineMs;
  while (game.readReport()?.state !== "ended") {
    if (clock.monotonicMs() >= givesUpAt) return false;
    await clock.sleep(gameEndPollMs);
  }
  return true;
}

/**
 * Serves probes and status immediately, then starts the pipeline. The streamer is ready when it can answer an
 * offer.
 */
export function startStreamer({ config, logger, clock, onStopped }: StreamerOptions): Streamer {
  const startedAt = clock.monotonicMs();
  const readUsage = createUsageReader();
  const writeReport = createTerminationLog(config.terminationLog, logger);
  let pipeline: StreamPipeline | undefined;
  let pictures: MomentPictures | undefined;
  const settled = Promise.withResolvers<undefined>();
  const launchSettled = settled.promise.then(() => clock.sleep(launchSettleMs));
  const packer =
    config.saves && startPacker({ saves: config.saves, launchSettled, logger, clock, random: Math.random });
  let stopping: EndReason | undefined;
  let endNoticeAt: number | undefined;

  const totals = () => pipeline?.viewers.totals() ?? noTotals;
  const throughput = createThroughputMeter(totals, clock);
  const game = watchGame(config.gameReportPath, (report) => {
    logger.info({ game: report }, "The game ended.");
    notifyEnd("game", report);
  });
  const verification =
    config.verification &&
    startVerification({
      config,
      files: config.verification,
      logger,
      clock,
      readGame: () => game.readReport(),
    });
  const notifyEnd = (by: "game" | "streamer", report: GameTermination | undefined) => {
    pipeline?.viewers.notify(buildEndNotice(by, report));
    if (pipeline?.viewers.current()) endNoticeAt ??= clock.monotonicMs();
  };
  const meter = new StreamMeter(clock);
  const measure = () => {
    if (pipeline) meter.sample(readStream(pipeline));
  };
  const measureTimer = setInterval(measure, measureEveryMs);
  const terminationReport = (reason: EndReason | null): StreamerTermination => ({
    state: reason === null ? "running" : "ended",
    reason,
    connections: totals().connections,
    game: game.readReport() ?? null,
    stream: meter.measurement(),
    ...readUsage(),
    wallSeconds: Math.round(clock.monotonicMs() - startedAt) / 1_000,
  });
  writeReport(terminationReport(null));
  const reportTimer = setInterval(() => writeReport(terminationReport(null)), reportEveryMs);

  const viewers = () => (stopping === undefined ? pipeline?.viewers : undefined);
  const server = createSignalServer({
    port: config.signalPort,
    sessionId: config.tickets.sessionId,
    tickets: createTickets({ ...config.tickets, clock }),
    logger,
    viewers,
    async awaitViewers() {
      if (!viewers()) await Promise.race([settled.promise, clock.sleep(pendingOfferMs)]);
      return viewers();
    },
    status: () =>
      presentStatus({
        pipeline,
        isStopping: stopping !== undefined,
        totals: totals(),
        throughput: throughput.latest(),
        game: game.readReport(),
      }),
    metrics: () => renderMetrics(collectMetrics(pipeline, totals())),
  });
  server.on("error", (error) => {
    logger.error({ err: error, port: config.signalPort }, "The signalling server failed.");
    void stop("failed");
  });

  const stop = async (reason: EndReason) => {
    if (stopping !== undefined) return;
    stopping = reason;
    settled.resolve(undefined);
    logger.info({ reason }, "The streamer is stopping.");
    const last = game.readReport();
    // A failed streamer restarts next to a game that keeps running, and its packer continues as well.
    const isSessionOver = reason === "stopped" || last?.state === "ended";
    verification?.finish(); // Before the last pack, which keeps what it has written.
    const packed = isSessionOver ? packer?.finish() : undefined;
    pictures?.stop();
    game.stop();
    throughput.stop();
    clearInterval(reportTimer);
    clearInterval(measureTimer);
    measure();
    // A game does not outlive its display. Otherwise the viewer of a failed streamer gets no notice and
    // reconnects, because the session may continue.
    const isGameOver = isSessionOver || reason === "display-failed";
    if (isGameOver && last?.state !== "ended") notifyEnd("streamer", last);
    if (endNoticeAt !== undefined)
      await clock.sleep(Math.max(0, endNoticeAt + lastNoticeMs - clock.monotonicMs()));
    pipeline?.close();
    server.close();
    if (isSessionOver) await packed;
    else if (await waitForGameEnd(game, clock)) await packer?.finish();
    packer?.close();
    writeReport(terminationReport(reason));
    onStopped(reason);
  };

  const describeStream = (
    codec: VideoCodec,
    { width, height, fps }: StreamQuality,
  ): z.infer<typeof HelloNotice> => ({
    t: "hello",
    width,
    height,
    fps,
    codec,
    encoder: pipeline?.encoders.get(codec)?.name ?? "",
    gamepad: pipeline?.gamepads.isOpen() ?? false,
  });
  startStreamPipeline({
    config,
    logger,
    clock,
    describeStream,
    onFailure: (reason) => void stop(reason),
  }).then(
    (running) => {
      if (stopping !== undefined) {
        running.close();
        return;
      }
      pipeline = running;
      verification?.attach(running);
      if (packer !== undefined)
        pictures = takeMomentPictures({
          clock,
          takeStill: (onStill) => running.media.takeStill(onStill),
          isPlaying: () => game.readReport()?.state === "running",
          onPicture: (jpeg) => packer.sendPicture(jpeg),
        });
      settled.resolve(undefined);
      logger.info(
        {
          startMs: Math.round(clock.monotonicMs() - startedAt),
          encoders: [...running.encoders.values()].map(({ name }) => name),
        },
        "The streamer is ready.",
      );
    },
    (error: unknown) => {
      logger.error({ err: error }, "The streamer could not start.");
      void stop(error instanceof PipelineStartError ? error.reason : "failed");
    },
  );
  return { stop };
}

function readStream({ viewers, media }: StreamPipeline): StreamReading {
  const viewer = viewers.current();
  const { frames, videoBytes, firstFrameMs } = viewers.totals();
  const { width, height } = media.shape();
  return {
    isViewed: viewer?.isPresent() === true && firstFrameMs !== undefined,
    frames,
    videoBytes,
    loss: viewer?.rate.state().loss ?? 0,
    width,
    height,
    firstPictureMs: firstFrameMs,
  };
}

function buildEndNotice(by: "game" | "streamer", report: GameTermination | undefined): StreamNotice {
  return { t: "ended", by, reason: report?.reason ?? "unknown", exitCode: report?.exitCode ?? null };
}
