import type { StreamerStatus } from "#contracts/stream.ts";
import { type Pod, isTerminal } from "#kube/api/builtin.ts";
import { type Clock, slept } from "#runtime/scheduling/clock.ts";
import { isDeleting } from "#kube/controllers/finalizers.ts";
import type { Logger } from "#runtime/logger.ts";
import { keyOf, type Stored } from "#kube/api/object.ts";
import type { Source } from "#kube/cache/source.ts";
import type { Change, ObjectCache } from "#kube/cache/cache.ts";
import type { AskedStreamer, OperatorTickets } from "../../streamers/askStreamer.ts";
import { isReady, isSessionPod, isStreamerRunning } from "../../sessionPods/podState.ts";

/**
 * The first request follows at once, later ones at growing intervals: in the end the kubelet reports the pod
 * as ready.
 */
const pauses = { firstMs: 25, growth: 1.1, longestMs: 1000 };

/**
 * A game that runs is playable when it has opened a window, before which players would see an empty display;
 * or after this time without one.
 */
const windowPatienceMs = 1500;

/** A streamer that the kubelet has reported first is asked for so much longer what its stream is like. */
const patienceMs = 10_000;

/** What a streamer that is playable says of the picture that it found it can make. */
export type PlayableStream = Pick<StreamerStatus, "picture" | "encoder" | "codec">;

export interface StreamsDeps {
  pods: Pick<ObjectCache<Pod>, "list" | "subscribe">;
  tickets: OperatorTickets;
  /** Returns what the streamer says of itself; rejects without a response. */
  askStreamer: (
    streamer: AskedStreamer,
    signal: AbortSignal,
  ) => Promise<PlayableStream & Pick<StreamerStatus, "ready" | "game" | "hasWindow">>;
  clock: Clock;
  logger: Logger;
}

/**
 * Asks the streamers of starting sessions whether their game runs and shows itself. The kubelet looks at
 * containers once a second and would report it up to a second later; where it is quicker, or the streamer
 * does not respond, its report counts. What is known here is lost with the process, and asked for again by
 * the next.
 */
export class Streams implements Source {
  readonly #deps: StreamsDeps;
  /** By uid of the pod: aborts the requests to its streamer. */
  readonly #asking = new Map<string, AbortController>();
  /** What playable streamers say of their stream, by uid of the pod. */
  readonly #playable = new Map<string, PlayableStream>();

  constructor(deps: StreamsDeps) {
    this.#deps = deps;
  }

  /**
   * Returns what the pod's streamer says of its stream; undefined until it has said that the game can be
   * played.
   */
  playable({ metadata: { uid } }: Stored<Pod>): PlayableStream | undefined {
    return this.#playable.get(uid);
  }

  async waitForSync(): Promise<void> {
    // The pods are a source of their own, which waits for them.
  }

  /** Starts to ask, and enqueues each session that became playable. Returns the function that ends it. */
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
      void slept(this.#deps.clock, patienceMs, current.signal).then(() => this.#leave(uid));
    // One that is ready already has said it to a former operator.
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

  /** Asks until the streamer is playable; returns undefined when the signal is aborted before that. */
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
    } while (await slept(clock, pauseMs, signal));
    return undefined;
  }
}

function isPlayed(pod: Stored<Pod>): boolean {
  return isSessionPod(pod) && isStreamerRunning(pod) && !isTerminal(pod) && !isDeleting(pod);
}
