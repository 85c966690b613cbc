import { labels } from "#contracts/crd/names.ts";
import type { Node, Pod } from "#kube/api/builtin.ts";
import { slept, type Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Source } from "#kube/cache/source.ts";
import type { ProbeConfig } from "../config.ts";
import type { OperatorMetrics } from "../metrics.ts";
import { removePods } from "../sessionPods/shortLivedPods.ts";
import { buildProbePod, outcomeOf, type ProbeRole } from "./probePod.ts";

/** Whether sessions with internet access may start. `Awaited` is temporary. */
export type InternetPermission = "Allowed" | "Awaited" | "NotAllowed" | "NotEnforced";

const pace = {
  lookMs: 500,
  /** Time for both pods to be scheduled, to pull their image and to end. */
  roundMs: 60_000,
  /** Time between rounds, also after one that found nothing out. */
  repeatMs: 600_000,
  retryMs: 60_000,
  /**
   * How long a finding counts when later rounds find nothing out, and for how long sessions wait for the
   * first one.
   */
  trustMs: 1_800_000,
};

export interface NetworkProbeDeps {
  pods: ResourceClient<Pod>;
  namespace: string;
  /** Undefined where no game gets the internet: nothing is probed then. */
  config: ProbeConfig | undefined;
  /** Returns the nodes that probes may go to. */
  gameNodes: () => readonly Node[];
  /** Returns the keys of the sessions that wait for the result. */
  waiting: () => string[];
  metrics: Pick<OperatorMetrics, "networkPoliciesEnforced">;
  clock: Clock;
  logger: Logger;
}

/**
 * Finds out, again and again, whether the cluster enforces NetworkPolicies for session pods: of two pods that
 * try to reach the operator the one that a policy allows it succeeds, and the one that looks like a session
 * with internet does not. Only a leader probes.
 */
export class NetworkProbe implements Source {
  readonly #deps: NetworkProbeDeps;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<(key: string) => void>();
  #permission: InternetPermission;
  /** When a result was found last; before the first one, when it was begun to look for it. */
  #trustedSinceMs = -Infinity;
  #running: Promise<void> | undefined;

  constructor(deps: NetworkProbeDeps) {
    this.#deps = deps;
    this.#permission = deps.config === undefined ? "NotAllowed" : "Awaited";
  }

  /** Whether a session may start that opens connections. */
  get permission(): InternetPermission {
    return this.#permission;
  }

  async waitForSync(): Promise<void> {
    // Each session waits for the result by itself.
  }

  /** Enqueues the sessions that waited, whenever the result changes. */
  subscribe(enqueue: (key: string) => void): () => void {
    this.#listeners.add(enqueue);
    return () => this.#listeners.delete(enqueue);
  }

  keys(): string[] {
    return [];
  }

  /** Begins to probe; nothing where no game gets the internet. */
  start(): void {
    const { config } = this.#deps;
    if (config !== undefined) this.#running ??= this.#run(config);
  }

  /** Ends a round under way, and removes its pods. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(config: ProbeConfig): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#stopping;
    let isEnforced: boolean | undefined;
    this.#trustedSinceMs = clock.monotonicMs();
    do {
      isEnforced = await this.#round(config, signal);
      if (!signal.aborted) this.#conclude(isEnforced);
    } while (await slept(clock, isEnforced === undefined ? pace.retryMs : pace.repeatMs, signal));
  }

  #conclude(isEnforced: boolean | undefined): void {
    const { clock, logger, metrics, waiting } = this.#deps;
    if (isEnforced === undefined && clock.monotonicMs() - this.#trustedSinceMs < pace.trustMs) {
      // The sessions of a new leader wait on, but admins are told.
      if (this.#permission === "Awaited") metrics.networkPoliciesEnforced(false);
      return;
    }
    if (isEnforced !== undefined) this.#trustedSinceMs = clock.monotonicMs();
    const permission = isEnforced === true ? "Allowed" : "NotEnforced";
    metrics.networkPoliciesEnforced(isEnforced === true);
    if (permission === this.#permission) return;
    this.#permission = permission;
    if (isEnforced === true)
      logger.info({}, "The cluster enforces NetworkPolicies. Games that need internet access can start.");
    else if (isEnforced === false)
      logger.error(
        {},
        "The cluster does not enforce NetworkPolicies. Games that need internet access are refused.",
      );
    else
      logger.error(
        {},
        "It could not be determined whether the cluster enforces NetworkPolicies. Games that need internet access are refused.",
      );
    for (const key of waiting()) for (const enqueue of this.#listeners) enqueue(key);
  }

  /** Returns whether the cluster enforces NetworkPolicies; undefined when nothing was found out. */
  async #round(config: ProbeConfig, signal: AbortSignal): Promise<boolean | undefined> {
    const { logger } = this.#deps;
    try {
      await this.#removePods(); // of a former leader that died
      const [control, covered] = await Promise.all([
        this.#outcome("control", config, signal),
        this.#outcome("covered", config, signal),
      ]);
      if (control !== true || covered === undefined) {
        if (!signal.aborted)
          logger.warn({ control, covered }, "The network probe was inconclusive. It is retried.");
        return undefined;
      }
      return !covered;
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, "The network probe failed. It is retried.");
      return undefined;
    } finally {
      await this.#removePods().catch((error: unknown) =>
        logger.warn(
          { err: error },
          "The network probe's pods could not be removed. The next round removes them.",
        ),
      );
    }
  }

  async #outcome(role: ProbeRole, config: ProbeConfig, signal: AbortSignal): Promise<boolean | undefined> {
    const { pods, namespace, gameNodes, clock } = this.#deps;
    let pod: Stored<Pod> | undefined = await pods.create(
      buildProbePod(role, namespace, config, gameNodes()),
      { signal },
    );
    const { metadata } = pod;
    const endMs = clock.monotonicMs() + pace.roundMs;
    while (
      pod !== undefined &&
      outcomeOf(pod) === undefined &&
      pod.status?.phase !== "Failed" &&
      clock.monotonicMs() < endMs
    ) {
      if (!(await slept(clock, pace.lookMs, signal))) return undefined;
      pod = await pods.find(metadata, { signal });
    }
    return pod && outcomeOf(pod);
  }

  #removePods(): Promise<void> {
    const { pods, namespace } = this.#deps;
    return removePods(pods, { namespace, labelSelector: labels.networkProbe });
  }
}
