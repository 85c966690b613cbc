import { setTimeout as delay } from "node:timers/promises";
import type { HelloNotice, StreamNotice, StreamerStatus, VideoCodec } from "#contracts/stream.ts";
import type { GameTermination, StreamerTermination } from "#contracts/termination.ts";
import type { z } from "zod";
import type { Config } from "./config.ts";
import { createUsageReader } from "./control/cgroup.ts";
import { watchGame } from "./control/gameWatcher.ts";
import { createMeter } from "./control/meter.ts";
import { renderMetrics } from "./control/metrics.ts";
import { createSignalServer } from "./control/signalServer.ts";
import { createTerminationLog } from "./control/terminationLog.ts";
import { startPacker } from "./saves/packerProcess.ts";
import { StartFailure, startStage, type Stage } from "./stage.ts";
import type { Logger } from "#runtime/logger.ts";

const accountEveryMs = 2_000;
/** An offer that comes while the streamer starts waits so long for it; the API waits a little longer for the answer. */
const holdMs = 8_000;
/** The game starts when the streamer has; after that there are processors for what can wait. */
const calmAfterMs = 1_500;
/** Lets the last notice leave before the transport closes. */
const farewellMs = 700;

export type EndReason = NonNullable<StreamerTermination["reason"]>;

export interface StreamerOptions {
  config: Config;
  log: Logger;
  /** Monotonic, in milliseconds. */
  now: () => number;
  /** The streamer stopped, by itself or by `stop`; the process has nothing more to do. */
  onStopped: (reason: EndReason) => void;
}

/** The session's streamer: everything of the stage, and what it tells the world outside. */
export interface Streamer {
  stop(reason: EndReason): Promise<void>;
}

/** Serves probes and status at once, then starts the stage; ready when an offer would be answered. */
export function startStreamer({ config, log, now, onStopped }: StreamerOptions): Streamer {
  const startedAt = now();
  const readUsage = createUsageReader();
  const writeAccount = createTerminationLog(config.terminationLog, log);
  let stage: Stage | undefined;
  const settled = Promise.withResolvers<undefined>();
  const calm = settled.promise.then(() => delay(calmAfterMs, undefined, { ref: false }));
  const packer = config.saves && startPacker({ saves: config.saves, calm, log, now, random: Math.random });
  let stopping: EndReason | undefined;
  let toldEndAt: number | undefined;

  const totals = () => stage?.viewers.totals() ?? { connections: 0, videoPackets: 0, videoBytes: 0, frames: 0, keyFrameRequests: 0, nacks: 0 };
  const meter = createMeter(totals, now);
  const game = watchGame(config.gameAccountPath, (account) => {
    log.info({ game: account }, "The game ended.");
    tellEnd("game", account);
  });
  const tellEnd = (by: "game" | "streamer", account: GameTermination | undefined) => {
    stage?.viewers.notify(buildEndNotice(by, account));
    if (stage?.viewers.current()) toldEndAt ??= now();
  };
  const account = (reason: EndReason | null): StreamerTermination => ({
    state: reason === null ? "running" : "ended",
    reason,
    connections: totals().connections,
    game: game.look() ?? null,
    ...readUsage(),
    wallSeconds: Math.round(now() - startedAt) / 1_000,
  });
  writeAccount(account(null));
  const accounts = setInterval(() => writeAccount(account(null)), accountEveryMs);

  const status = (): StreamerStatus => presentStatus(stage, stopping === undefined, totals().connections, meter.rates(), game.look());
  const viewers = () => stopping === undefined ? stage?.viewers : undefined;
  const server = createSignalServer({
    port: config.signalPort,
    sessionId: config.sessionId,
    log,
    viewers,
    async awaitViewers() {
      if (!viewers()) await Promise.race([settled.promise, delay(holdMs, undefined, { ref: false })]);
      return viewers();
    },
    status,
    metrics: () => renderMetrics({ ...totals(), ...stageMetrics(stage) }),
  });
  server.on("error", (error) => {
    log.error({ err: error, port: config.signalPort }, "Signalling cannot be served.");
    void stop("failed");
  });

  const stop = async (reason: EndReason) => {
    if (stopping !== undefined) return;
    stopping = reason;
    settled.resolve(undefined);
    log.info({ reason }, "The streamer stops.");
    const last = game.look();
    // A streamer that fails is started again beside a game that goes on, and its packer goes on as well.
    const isOver = reason === "stopped" || last?.state === "ended";
    const packed = isOver ? packer?.finish() : undefined;
    game.stop();
    meter.stop();
    clearInterval(accounts);
    if (stage?.viewers.current()) {
      if (last?.state !== "ended") tellEnd("streamer", last);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, (toldEndAt ?? now()) + farewellMs - now())));
    }
    stage?.close();
    server.close();
    await packed;
    packer?.close();
    writeAccount(account(reason));
    onStopped(reason);
  };

  const describeStream = (codec: VideoCodec): z.infer<typeof HelloNotice> => ({
    t: "hello",
    width: config.width, height: config.height, fps: config.fps,
    codec,
    encoder: stage?.encoders.get(codec)?.name ?? "",
    gamepad: stage?.gamepad.isOpen() ?? false,
  });
  startStage({ config, log, now, describeStream, onDeath: (reason) => void stop(reason) }).then(
    (started) => {
      if (stopping !== undefined) {
        started.close();
        return;
      }
      stage = started;
      settled.resolve(undefined);
      log.info({ startMs: Math.round(now() - startedAt), encoders: [...started.encoders.values()].map(({ name }) => name) }, "The streamer is ready.");
    },
    (error: unknown) => {
      log.error({ err: error }, "The streamer could not start.");
      void stop(error instanceof StartFailure ? error.reason : "failed");
    },
  );
  return { stop };
}

function presentStatus(
  stage: Stage | undefined, isWanted: boolean, connections: number, rates: { fps: number; kbps: number }, game: GameTermination | undefined,
): StreamerStatus {
  const viewer = stage?.viewers.current();
  const codec = viewer?.codec.codec ?? [...(stage?.encoders.keys() ?? [])][0] ?? "h264";
  const lastInputAt = stage?.input.state().lastInputAt ?? null;
  return {
    ready: isWanted && stage !== undefined,
    viewers: viewer?.isPresent() === true ? 1 : 0,
    connections,
    lastInputAt: lastInputAt === null ? null : new Date(lastInputAt).toISOString(),
    game: game?.state ?? "waiting",
    encoder: stage?.encoders.get(codec)?.name ?? "",
    codec,
    ...rates,
    mediaRestarts: stage?.media.restarts() ?? 0,
  };
}

function stageMetrics(stage: Stage | undefined) {
  const viewer = stage?.viewers.current();
  const { targetKbps = 0, queueMs = 0, loss = 0 } = viewer?.rate.state() ?? {};
  const input = stage?.input.state();
  return {
    viewers: viewer?.isPresent() === true ? 1 : 0,
    mediaRestarts: stage?.media.restarts() ?? 0,
    inputAccepted: input?.accepted ?? 0,
    inputRejected: input?.rejected ?? 0,
    targetKbps, queueMs, loss,
  };
}

function buildEndNotice(by: "game" | "streamer", account: GameTermination | undefined): StreamNotice {
  return { t: "ended", by, reason: account?.reason ?? "unknown", exitCode: account?.exitCode ?? null };
}
