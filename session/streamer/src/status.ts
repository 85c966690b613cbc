import type { Clock } from "#runtime/scheduling/clock.ts";
import type { StreamerStatus } from "#contracts/stream.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import type { GameTermination } from "#contracts/termination.ts";
import type { StreamPipeline } from "./streamPipeline.ts";
import type { Viewer } from "./transport/viewer.ts";
import type { ViewersTotals } from "./transport/viewers.ts";

/** Input of `presentStatus`. */
interface StatusSource {
  /** Undefined while the pipeline starts. */
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

/** Returns the values of `GET /metrics`. Values of a pipeline that has not started are 0. */
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

type Metric = [name: string, type: "counter" | "gauge", help: string, value: number];

/** Values of the metrics. */
interface MetricsSource {
  viewers: number;
  connections: number;
  videoPackets: number;
  videoBytes: number;
  frames: number;
  keyFrameRequests: number;
  nacks: number;
  mediaRestarts: number;
  inputAccepted: number;
  inputRejected: number;
  targetKbps: number;
  queueMs: number;
  loss: number;
}

/** Returns the metrics in the Prometheus text format. */
export function renderMetrics(source: MetricsSource): string {
  const metrics: Metric[] = [
    ["viewers", "gauge", "Browsers connected.", source.viewers],
    [
      "connections_total",
      "counter",
      "WebRTC offers answered, including those after page reloads.",
      source.connections,
    ],
    ["video_packets_total", "counter", "Video packets encoded.", source.videoPackets],
    ["video_bytes_total", "counter", "Size of the encoded video packets in bytes.", source.videoBytes],
    ["video_frames_total", "counter", "Video frames encoded.", source.frames],
    ["key_frame_requests_total", "counter", "Key frames requested by browsers.", source.keyFrameRequests],
    ["nacks_total", "counter", "Retransmission requests (NACKs) from browsers.", source.nacks],
    [
      "media_restarts_total",
      "counter",
      "Media processes that exited and were replaced.",
      source.mediaRestarts,
    ],
    ["input_messages_total", "counter", "Input messages applied.", source.inputAccepted],
    [
      "input_messages_rejected_total",
      "counter",
      "Input messages dropped because they were malformed or came from a view-only viewer.",
      source.inputRejected,
    ],
    [
      "target_kbps",
      "gauge",
      "Target bitrate of the rate controller in kilobits per second.",
      source.targetKbps,
    ],
    [
      "queue_delay_seconds",
      "gauge",
      "Queueing delay on the path to the browser in seconds.",
      source.queueMs / 1_000,
    ],
    ["loss_ratio", "gauge", "Fraction of packets lost in the last second, from 0 to 1.", source.loss],
  ];
  return metrics
    .map(([name, type, help, value]) => {
      const full = `joypod_streamer_${name}`;
      return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${full} ${value}\n`;
    })
    .join("");
}

/** Frames and bitrate encoded in the last second. */
interface Throughput {
  fps: number;
  kbps: number;
}

/** Measures throughput from monotonic counters. */
interface ThroughputMeter {
  latest(): Throughput;
  stop(): void;
}

const sampleEveryMs = 1_000;

/** Starts sampling the counters once a second. */
export function createThroughputMeter(
  read: () => { frames: number; videoBytes: number },
  clock: Pick<Clock, "monotonicMs">,
): ThroughputMeter {
  let last = { ...read(), at: clock.monotonicMs() };
  let throughput: Throughput = { fps: 0, kbps: 0 };
  const timer = setInterval(() => {
    const next = { ...read(), at: clock.monotonicMs() };
    const milliseconds = Math.max(1, next.at - last.at);
    throughput = {
      fps: Math.round(((next.frames - last.frames) * 10_000) / milliseconds) / 10,
      kbps: Math.round(((next.videoBytes - last.videoBytes) * 8) / milliseconds),
    };
    last = next;
  }, sampleEveryMs);
  return { latest: () => throughput, stop: () => clearInterval(timer) };
}
