import PQueue from "p-queue";
import type { StreamerStatus } from "#contracts/stream.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { ObjectCache } from "#kube/cache/cache.ts";
import type { Source } from "#kube/cache/source.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import { repeat } from "#runtime/scheduling/backgroundJob.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { isReady, isSessionPod } from "../sessionPods/podState.ts";
import type { AskedStreamer, OperatorTickets } from "./askStreamer.ts";

/** Concurrency limit of requests to streamers. */
const askedAtOnce = 16;
/** Time before the stop at which the player is told, at most half of the permitted time. */
const announcedMs = 300_000;
/** Requests per permitted idle time, and the bounds of the interval between them. */
const period = { share: 1 / 20, minMs: 1_000, maxMs: 30_000 };

/** Dependencies of InputIdleness. */
export interface InputIdlenessDeps {
  pods: Pick<ObjectCache<Pod>, "list">;
  tickets: OperatorTickets;
  askStreamer: (streamer: AskedStreamer, signal: AbortSignal) => Promise<Pick<StreamerStatus, "lastInputAt">>;
  /** Maximum time without input; undefined for no limit. */
  maxIdleMs: number | undefined;
  clock: Clock;
  logger: Logger;
}

/** The last input that a streamer reported, and when this process first heard of it. */
interface SeenInput {
  lastInputAt: string | null;
  sinceMs: number;
  /** When a streamer last answered. */
  answeredMs: number;
}

/**
 * Finds sessions that nobody plays, whatever keepalives arrive. Measures by this process's monotonic clock
 * from when it first saw the last input, because a pod's clock may be off: the next leader starts again. Only
 * a streamer that answers can be idle.
 */
export class InputIdleness implements Source {
  readonly #deps: InputIdlenessDeps;
  /** By uid of the pod. */
  readonly #seen = new Map<string, SeenInput>();

  constructor(deps: InputIdlenessDeps) {
    this.#deps = deps;
  }

  /**
   * Returns until when the pod's game may go on without input, by this process's monotonic clock. Undefined
   * unless that is soon.
   */
  endsAtMs({ metadata: { uid } }: Stored<Pod>): number | undefined {
    const { maxIdleMs } = this.#deps;
    const seen = this.#seen.get(uid);
    if (seen === undefined || maxIdleMs === undefined) return undefined;
    const endsAtMs = seen.sinceMs + maxIdleMs;
    return seen.answeredMs >= endsAtMs - Math.min(announcedMs, maxIdleMs / 2) ? endsAtMs : undefined;
  }

  /** Returns whether the pod's game has had no input for the permitted time, as its streamer confirmed. */
  isIdle(pod: Stored<Pod>): boolean {
    const endsAtMs = this.endsAtMs(pod);
    const seen = this.#seen.get(pod.metadata.uid);
    return endsAtMs !== undefined && seen !== undefined && seen.answeredMs >= endsAtMs;
  }

  async waitForSync(): Promise<void> {
    // The pods are a separate source, which waits for its sync.
  }

  keys(): string[] {
    return [];
  }

  subscribe(enqueue: (key: string) => void): () => void {
    const { maxIdleMs, clock, logger } = this.#deps;
    if (maxIdleMs === undefined) return () => undefined;
    const stopping = new AbortController();
    const periodMs = Math.min(period.maxMs, Math.max(period.minMs, maxIdleMs * period.share));
    void repeat(
      {
        name: "input idleness",
        periodMs,
        clock,
        logger,
        work: (signal) => this.#pass(enqueue, signal),
      },
      stopping.signal,
    );
    return () => stopping.abort();
  }

  async #pass(enqueue: (key: string) => void, signal: AbortSignal): Promise<void> {
    const pods = this.#deps.pods.list().filter(isPlayed);
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const uid of this.#seen.keys()) if (!uids.has(uid)) this.#seen.delete(uid);
    const queue = new PQueue({ concurrency: askedAtOnce });
    await Promise.all(
      pods.map((pod) =>
        queue.add(async () => {
          const before = this.endsAtMs(pod);
          await this.#ask(pod, signal);
          if (this.endsAtMs(pod) !== before || this.isIdle(pod)) enqueue(keyOf(pod));
        }),
      ),
    );
  }

  async #ask(pod: Stored<Pod>, signal: AbortSignal): Promise<void> {
    const { askStreamer, tickets, clock, logger } = this.#deps;
    const { name, uid } = pod.metadata;
    const podIp = pod.status?.podIP;
    if (podIp === undefined) return;
    try {
      const { lastInputAt } = await askStreamer({ podIp, ticket: tickets.sign(name) }, signal);
      const seen = this.#seen.get(uid);
      const answeredMs = clock.monotonicMs();
      const isNew = seen === undefined || seen.lastInputAt !== lastInputAt;
      this.#seen.set(uid, { lastInputAt, sinceMs: isNew ? answeredMs : seen.sinceMs, answeredMs });
    } catch (error) {
      logger.debug({ err: error, gameSession: name }, "A streamer does not respond.");
    }
  }
}

function isPlayed(pod: Stored<Pod>): boolean {
  return isSessionPod(pod) && isReady(pod) && !isDeleting(pod);
}
