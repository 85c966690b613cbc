import type { GameSession, GameSessionConditionType } from "#contracts/crd/gameSession.ts";
import { conditionStatus } from "#contracts/crd/sessionState.ts";
import { containerNames } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { sessionsNamespace, type Platform } from "#test/e2e/support/platform.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { median } from "./row.ts";
import type { Launched } from "./session.ts";

const isTrue = (session: GameSession, type: GameSessionConditionType): boolean =>
  conditionStatus(session, type) === "True";
const containerOf = ({ status }: Pod, name: string) =>
  [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
    (container) => container.name === name,
  );

/** Steps of a launch that the API server shows, in the expected order. */
const sessionSteps: Record<string, (session: GameSession) => boolean> = {
  "session is there": () => true,
  "node is chosen": ({ status }) => status?.nodeName !== undefined,
  "files and save are ready": (session) => isTrue(session, "ContentReady") && isTrue(session, "SaveRestored"),
  "session is ready": (session) => isTrue(session, "Ready"),
};
const podSteps: Record<string, (pod: Pod) => boolean> = {
  "pod is there": () => true,
  "pod is scheduled": ({ spec }) => spec?.nodeName !== undefined,
  "streamer runs (kubelet)": (pod) => containerOf(pod, containerNames.streamer)?.state?.running !== undefined,
  "game runs (kubelet)": (pod) => containerOf(pod, containerNames.game)?.state?.running !== undefined,
  "pod is ready (kubelet)": ({ status }) =>
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
};
const running = "page is told";

/** Watches launches, and records when each step was first seen, in milliseconds after the 202 response. */
export class LaunchTimeline {
  readonly #sessions: Reflector<GameSession>;
  readonly #pods: Reflector<Pod>;
  readonly #seenMs = new Map<string, Map<string, number>>();
  readonly #launches: Map<string, number>[] = [];

  constructor({ gameSessions, pods }: Platform) {
    this.#sessions = new Reflector({
      client: gameSessions,
      cache: new ObjectCache<GameSession>(),
      namespace: sessionsNamespace,
    });
    this.#pods = new Reflector({ client: pods, cache: new ObjectCache<Pod>(), namespace: sessionsNamespace });
    this.#sessions.cache.subscribe(({ object }) => this.#look(object.metadata.name, object, sessionSteps));
    this.#pods.cache.subscribe(({ object }) => this.#look(object.metadata.name, object, podSteps));
  }

  async start(): Promise<void> {
    for (const reflector of [this.#sessions, this.#pods]) {
      reflector.start();
      await reflector.waitForSync();
    }
  }

  /** Adds a launch. Waits until the kubelet reports it running, which is the last step. */
  async add({ sessionId, acceptedMs, runningMs }: Launched): Promise<void> {
    const seen = await eventually(
      () => {
        const steps = this.#seenMs.get(sessionId);
        return steps?.has("pod is ready (kubelet)") === true && steps;
      },
      { what: "the pod to be ready" },
    );
    const moments = new Map([...seen].map(([step, ms]) => [step, ms - acceptedMs]));
    this.#launches.push(moments.set(running, runningMs - acceptedMs));
  }

  /** Returns the median of each step, in order of time. */
  text(): string {
    const steps = [...new Set(this.#launches.flatMap((moments) => [...moments.keys()]))]
      .map((step) => ({ step, ms: median(this.#launches.flatMap((moments) => moments.get(step) ?? [])) }))
      .sort((a, b) => a.ms - b.ms);
    return [
      "launch, p50 of ms after 202:",
      ...steps.map(({ step, ms }) => `${ms.toFixed(0).padStart(7)}  ${step}`),
    ].join("\n");
  }

  async stop(): Promise<void> {
    await Promise.all([this.#sessions.stop(), this.#pods.stop()]);
  }

  #look<T>(sessionId: string, object: T, steps: Record<string, (object: T) => boolean>): void {
    const seen = this.#seenMs.get(sessionId) ?? new Map<string, number>();
    this.#seenMs.set(sessionId, seen);
    for (const [step, isReached] of Object.entries(steps)) {
      if (!seen.has(step) && isReached(object)) seen.set(step, Date.now());
    }
  }
}
