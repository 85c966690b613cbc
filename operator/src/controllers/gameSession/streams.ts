import type { StreamerStatus } from "#contracts/stream.ts";
import { type Pod, isTerminal } from "#kube/api/builtin.ts";
import { type Clock, sleepUntilAborted } from "#runtime/scheduling/clock.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import type { Logger } from "#runtime/logger.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import type { Source } from "#kube/cache/source.ts";
import type { Change, ObjectCache } from "#kube/cache/cache.ts";
import type { AskedStreamer, OperatorTickets } from "../../streamers/askStreamer.ts";
import { isReady, isSessionPod, isStreamerRunning } from "../../sessionPods/podState.ts";

/**
 * The first request is sent at once, later ones at growing intervals. Eventually the kubelet reports the pod
 * as ready.
 */
const pauses = { firstMs: 25, growth: 1.1, longestMs: 1000 };

/**
 * A running game counts as playable once it has opened a window, because players would see an empty display
 * before that, or after this time without a window.
 */
const windowPatienceMs = 1500;

/** Extra time to query a streamer for its stream after the kubelet reported the pod as ready first. */
const patienceMs = 10_000;

/** The picture settings that a playable streamer reports. */
export type PlayableStream = Pick<StreamerStatus, "picture" | "encoder" | "codec">;

export interface StreamsDeps {
  pods: Pick<ObjectCache<Pod>, "list" | "subscribe">;
  tickets: OperatorTickets;
  /** Returns the streamer's status. Rejects without a response. */
  askStreamer: (
    streamer: AskedStreamer,
    signal: AbortSignal,
  ) => Promise<PlayableStream & Pick<StreamerStatus, "ready" | "game" | "hasWindow">>;
  clock: Clock;
  logger: Logger;
}

/**
 * Polls the streamers of starting sessions until their game runs and has opened a window. The kubelet checks
 * containers once a second and would report it up to a second later. If the kubelet is faster, or the
 * streamer does not respond, the kubelet's report counts. The results are in memory only; the next process
 * polls again.
 */
export class Streams implements Source {
  readonly #deps: StreamsDeps;
  /** Aborts the requests to a streamer, by uid of the pod. */
  readonly #asking = new Map<string, AbortController>();
  /** Reports of playable streamers, by uid of the pod. */
  readonly #playable = new Map<string, PlayableStream>();

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the pod's stream as its streamer reported it. Undefined until the streamer has reported the game
   * as playable.
   */
  playable({ metadata: { uid } }: Stored<Pod>): PlayableStream | undefined {
    return this.#playable.get(uid);
  }

  async waitForSync(): Promise<void> {
    // The pods are a separate source, which waits for its sync.
  }

  /** Starts polling, and enqueues each session that becomes playable. Returns the function that stops it. */
  subscribe(enqueue: (key: string) => void): () => void {
    const { pods } = this.#deps;
    const follow = (change: Pick<Change<Pod>, "type" | "object">): void => this.#follow(change, enqueue);
    const unsubscribe = pods.subscribe(follow);
    for (const object of pods.list()) follow({ type: "added", object });
    return () => {
      unsubscribe();
      for (const uid of this.#asking.keys()) this.#leave(uid);
    };
  }

  keys(): string[] {
    return [];
  }

  #follow({ type, object: pod }: Pick<Change<Pod>, "type" | "object">, enqueue: (key: string) => void): void {
    const { uid } = pod.metadata;
    const podIp = pod.status?.podIP;
    if (type === "deleted" || podIp === undefined || !isPlayed(pod)) {
      this.#leave(uid);
      if (type === "deleted") this.#playable.delete(uid);
      return;
    }
    const current = this.#asking.get(uid);
    if (current && isReady(pod))
      void sleepUntilAborted(this.#deps.clock, patienceMs, current.signal).then(() => this.#leave(uid));
    // A pod that is already ready was reported to an earlier operator.
    if (current || isReady(pod) || this.#playable.has(uid)) return;
    const asking = new AbortController();
    this.#asking.set(uid, asking);
    void this.#ask(pod.metadata.name, podIp, asking.signal).then((stream) => {
      if (stream === undefined || asking.signal.aborted) return;
      this.#leave(uid);
      this.#playable.set(uid, stream);
      enqueue(keyOf(pod));
    });
  }

  #leave(uid: string): void {
    this.#asking.get(uid)?.abort();
    this.#asking.delete(uid);
  }

  /** Polls until the streamer is playable. Returns undefined if the signal is aborted first. */
  async #ask(gameSession: string, podIp: string, signal: AbortSignal): Promise<PlayableStream | undefined> {
    const { askStreamer, tickets, clock, logger } = this.#deps;
    let pauseMs = pauses.firstMs;
    let runsSinceMs: number | undefined;
    do {
      try {
        const {
          ready,
          game,
          hasWindow = true,
          picture,
          encoder,
          codec,
        } = await askStreamer({ podIp, ticket: tickets.sign(gameSession) }, signal);
        if (ready && game === "running") {
          runsSinceMs ??= clock.monotonicMs();
          if (hasWindow || clock.monotonicMs() - runsSinceMs >= windowPatienceMs)
            return { picture, encoder, codec };
        }
      } catch (error) {
        if (!signal.aborted) logger.debug({ err: error, podIp }, "A starting streamer does not respond yet.");
      }
      pauseMs = Math.min(pauseMs * pauses.growth, pauses.longestMs);
    } while (await sleepUntilAborted(clock, pauseMs, signal));
    return undefined;
  }
}

function isPlayed(pod: Stored<Pod>): boolean {
  return isSessionPod(pod) && isStreamerRunning(pod) && !isTerminal(pod) && !isDeleting(pod);
}
