import type { StreamerStatus } from "#contracts/stream.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { GameTermination } from "#contracts/termination.ts";
import type { StreamPipeline } from "../streamPipeline.ts";
import type { Viewer } from "../transport/viewer.ts";
import type { ViewersTotals } from "../transport/viewers.ts";
import type { MetricsSource } from "./metrics.ts";
import type { Throughput } from "./throughputMeter.ts";

/** What a status is made from. */
export interface StatusSource {
  /** Undefined while it starts. */
  pipeline: StreamPipeline | undefined;
  isStopping: boolean;
  totals: ViewersTotals;
  throughput: Throughput;
  game: GameTermination | undefined;
}

/** Returns the body of `GET /status`. */
export function presentStatus({
  pipeline,
  isStopping,
  totals,
  throughput,
  game,
}: StatusSource): StreamerStatus {
  const viewer = pipeline?.viewers.current();
  const codec = viewer?.codec.codec ?? firstCodec(pipeline);
  const lastInputAt = pipeline?.input.state().lastInputAt ?? null;
  return {
    ready: !isStopping && pipeline !== undefined,
    viewers: viewer?.isPresent() === true ? 1 : 0,
    connections: totals.connections,
    lastInputAt: lastInputAt === null ? null : new Date(lastInputAt).toISOString(),
    game: game?.state ?? "waiting",
    encoder: pipeline?.encoders.get(codec)?.name ?? "",
    codec,
    ...throughput,
    mediaRestarts: pipeline?.media.restarts() ?? 0,
    ...(pipeline && { picture: pipeline.picture, hasWindow: pipeline.windows.hasWindow() }),
    ...(viewer?.isPresent() === true && { connection: describeConnection(viewer) }),
  };
}

function firstCodec(pipeline: StreamPipeline | undefined): VideoCodec {
  return [...(pipeline?.encoders.keys() ?? [])][0] ?? "h264";
}

function describeConnection(viewer: Viewer): StreamerStatus["connection"] {
  const { targetKbps, queueMs, loss } = viewer.rate.state();
  return { targetKbps, queueMs, loss, roundTripMs: viewer.roundTripMs() };
}

/** Returns the figures behind `GET /metrics`; those of a pipeline that has not started are 0. */
export function collectMetrics(pipeline: StreamPipeline | undefined, totals: ViewersTotals): MetricsSource {
  const viewer = pipeline?.viewers.current();
  const { targetKbps = 0, queueMs = 0, loss = 0 } = viewer?.rate.state() ?? {};
  const input = pipeline?.input.state();
  return {
    ...totals,
    viewers: viewer?.isPresent() === true ? 1 : 0,
    mediaRestarts: pipeline?.media.restarts() ?? 0,
    inputAccepted: input?.accepted ?? 0,
    inputRejected: input?.rejected ?? 0,
    targetKbps,
    queueMs,
    loss,
  };
}
