import { Gauge, type Registry } from "prom-client";
import PQueue from "p-queue";
import type { StreamerStatus } from "#contracts/stream.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { ObjectCache } from "#kube/cache/cache.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import type { Stored } from "#kube/api/object.ts";
import { isReady, isSessionPod, nodeOfPod } from "../sessionPods/podState.ts";
import type { AskedStreamer, OperatorTickets } from "./askStreamer.ts";

/**
 * Concurrency limit of requests to streamers. A streamer that does not respond holds its place for a second.
 */
const askedAtOnce = 16;

/** Maximum number of streams with metrics of their own. All streams count in their node's metrics. */
const sessionsShownMax = 500;

/** The values of a streamer's status shown as metrics, and which of two values is worse. */
const figures = {
  joypod_stream_frames_per_second: {
    figure: "Frames encoded per second",
    worst: Math.min,
    of: ({ fps }) => fps,
  },
  joypod_stream_bits_per_second: {
    figure: "Encoded video in bits per second",
    worst: Math.min,
    of: ({ kbps }) => kbps * 1_000,
  },
  joypod_stream_target_bits_per_second: {
    figure: "Target bitrate of the rate controller in bits per second",
    worst: Math.min,
    of: ({ connection }) => times(connection?.targetKbps, 1_000),
  },
  joypod_stream_round_trip_seconds: {
    figure: "Round-trip time to the viewer in seconds",
    worst: Math.max,
    of: ({ connection }) => times(connection?.roundTripMs, 1 / 1_000),
  },
  joypod_stream_queue_delay_seconds: {
    figure: "Queueing delay on the path to the viewer in seconds",
    worst: Math.max,
    of: ({ connection }) => times(connection?.queueMs, 1 / 1_000),
  },
  joypod_stream_loss_ratio: {
    figure: "Fraction of packets lost in the last second, from 0 to 1",
    worst: Math.max,
    of: ({ connection }) => connection?.loss,
  },
} satisfies Record<
  string,
  {
    figure: string;
    worst: (...values: number[]) => number;
    of: (status: StreamerStatus) => number | undefined;
  }
>;

/** Dependencies of StreamFigures. */
export interface StreamFiguresDeps {
  pods: Pick<ObjectCache<Pod>, "list">;
  tickets: OperatorTickets;
  askStreamer: (streamer: AskedStreamer, signal: AbortSignal) => Promise<StreamerStatus>;
  registry: Registry;
}

/**
 * Metrics of all streams with a viewer, as gauges by node: the mean and the worst of the node's streams.
 * Gauges by session cover a bounded number of the current streams.
 */
export class StreamFigures {
  readonly #deps: StreamFiguresDeps;
  readonly #streams: Gauge;
  readonly #unanswered: Gauge;
  readonly #gauges: ReadonlyMap<string, Gauge>;
  /** The gauges by session, by the names of the corresponding gauges by node. */
  readonly #ofSessions: ReadonlyMap<string, Gauge>;

  constructor(deps: StreamFiguresDeps) {
    this.#deps = deps;
    const registers = [deps.registry];
    this.#streams = new Gauge({
      name: "joypod_streams",
      help: "Streams with a viewer, by node.",
      labelNames: ["node"],
      registers,
    });
    this.#unanswered = new Gauge({
      name: "joypod_streamers_unanswered",
      help: "Streamers of running sessions that did not respond to the last status request, by node.",
      labelNames: ["node"],
      registers,
    });
    this.#gauges = new Map(
      Object.entries(figures).map(([name, { figure }]) => [
        name,
        new Gauge({
          name,
          help: `${figure} (mean and worst of the node's streams with a viewer).`,
          labelNames: ["node", "statistic"],
          registers,
        }),
      ]),
    );
    this.#ofSessions = new Map(
      Object.entries(figures).map(([name, { figure }]) => {
        const ofSession = name.replace("joypod_stream_", "joypod_session_stream_");
        return [
          name,
          new Gauge({
            name: ofSession,
            help: `${figure}, for up to ${sessionsShownMax} sessions with a viewer.`,
            labelNames: ["session"],
            registers,
          }),
        ];
      }),
    );
  }

  /** Polls every running streamer once and sets the gauges. Nodes without streamers have no values. */
  async refresh(signal: AbortSignal): Promise<void> {
    const running = Map.groupBy(this.#deps.pods.list().filter(isStreaming), (pod) => nodeOfPod(pod) ?? "");
    const queue = new PQueue({ concurrency: askedAtOnce });
    const asked = [...running].map(async ([node, pods]) => ({
      node,
      statuses: await Promise.all(
        pods.map((pod) =>
          queue.add(async () => ({ session: pod.metadata.name, status: await this.#statusOf(pod, signal) })),
        ),
      ),
    }));
    const nodes = await Promise.all(asked);
    signal.throwIfAborted();
    for (const gauge of [
      this.#streams,
      this.#unanswered,
      ...this.#gauges.values(),
      ...this.#ofSessions.values(),
    ])
      gauge.reset();
    for (const { node, statuses } of nodes)
      this.#show(
        node,
        statuses.map(({ status }) => status),
      );
    for (const { session, status } of nodes
      .flatMap(({ statuses }) => statuses)
      .filter(hasViewer)
      .slice(0, sessionsShownMax))
      this.#showSession(session, status);
  }

  #showSession(session: string, status: StreamerStatus): void {
    for (const [name, { of }] of Object.entries(figures)) {
      const value = of(status);
      if (value !== undefined) this.#ofSessions.get(name)?.set({ session }, value);
    }
  }

  #show(node: string, statuses: readonly (StreamerStatus | undefined)[]): void {
    const seen = statuses.filter((status) => status !== undefined);
    const viewed = seen.filter(({ viewers }) => viewers > 0);
    this.#streams.set({ node }, viewed.length);
    this.#unanswered.set({ node }, statuses.length - seen.length);
    for (const [name, { worst, of }] of Object.entries(figures)) {
      const values = viewed.map(of).filter((value) => value !== undefined);
      if (values.length === 0) continue;
      this.#gauges
        .get(name)
        ?.set({ node, statistic: "mean" }, values.reduce((sum, value) => sum + value, 0) / values.length);
      this.#gauges.get(name)?.set({ node, statistic: "worst" }, worst(...values));
    }
  }

  async #statusOf(
    { metadata: { name }, status }: Stored<Pod>,
    signal: AbortSignal,
  ): Promise<StreamerStatus | undefined> {
    const { askStreamer, tickets } = this.#deps;
    const podIp = status?.podIP;
    if (podIp === undefined || signal.aborted) return undefined;
    // Counted by the gauge of unanswered requests.
    return askStreamer({ podIp, ticket: tickets.sign(name) }, signal).catch(() => undefined);
  }
}

function isStreaming(pod: Stored<Pod>): boolean {
  return isSessionPod(pod) && isReady(pod) && !isDeleting(pod);
}

function hasViewer(asked: {
  session: string;
  status: StreamerStatus | undefined;
}): asked is { session: string; status: StreamerStatus } {
  return asked.status !== undefined && asked.status.viewers > 0;
}

function times(value: number | null | undefined, factor: number): number | undefined {
  return value === null || value === undefined ? undefined : value * factor;
}
