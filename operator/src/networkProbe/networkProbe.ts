import { labels } from "#contracts/crd/names.ts";
import type { Node, Pod } from "#kube/api/builtin.ts";
import { sleepUntilAborted, type Clock } from "#runtime/scheduling/clock.ts";
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
  /** Time for both pods to be scheduled, to pull their image and to finish. */
  roundMs: 60_000,
  /** Time between rounds, including rounds without a result. */
  repeatMs: 600_000,
  retryMs: 60_000,
  /**
   * How long a result remains valid if later rounds have none, and how long sessions wait for the first
   * result.
   */
  trustMs: 1_800_000,
};

export interface NetworkProbeDeps {
  pods: ResourceClient<Pod>;
  namespace: string;
  /** Undefined if no game gets internet access. Then nothing is probed. */
  config: ProbeConfig | undefined;
  /** Returns the nodes that probes may run on. */
  gameNodes: () => readonly Node[];
  /** Returns the keys of the sessions that wait for the result. */
  waiting: () => string[];
  metrics: Pick<OperatorMetrics, "networkPoliciesEnforced">;
  clock: Clock;
  logger: Logger;
}

/**
 * Checks periodically whether the cluster enforces NetworkPolicies for session pods. Two pods try to reach
 * the operator: the one that a policy allows must succeed, and the one that looks like a session with
 * internet access must fail. Only the leader probes.
 */
export class NetworkProbe implements Source {
  readonly #deps: NetworkProbeDeps;
  readonly #stopping = new AbortController();
  readonly #listeners = new Set<(key: string) => void>();
  #permission: InternetPermission;
  /** Time of the last result or, before the first one, of the start of probing. */
  #trustedSinceMs = -Infinity;
  #running: Promise<void> | undefined;

  constructor(deps: NetworkProbeDeps) {
    this.#deps = deps;
    this.#permission = deps.config === undefined ? "NotAllowed" : "Awaited";
  }

  /** Whether sessions that open connections may start. */
  get permission(): InternetPermission {
    return this.#permission;
  }

  async waitForSync(): Promise<void> {
    // Each session waits for the result itself.
  }

  /** Enqueues the waiting sessions whenever the result changes. */
  subscribe(enqueue: (key: string) => void): () => void {
    this.#listeners.add(enqueue);
    return () => this.#listeners.delete(enqueue);
  }

  keys(): string[] {
    return [];
  }

  /** Starts probing. Does nothing if no game gets internet access. */
  start(): void {
    const { config } = this.#deps;
    if (config !== undefined) this.#running ??= this.#run(config);
  }

  /** Aborts the current round and removes its pods. */
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
    } while (await sleepUntilAborted(clock, isEnforced === undefined ? pace.retryMs : pace.repeatMs, signal));
  }

  #conclude(isEnforced: boolean | undefined): void {
    const { clock, logger, metrics, waiting } = this.#deps;
    if (isEnforced === undefined && clock.monotonicMs() - this.#trustedSinceMs < pace.trustMs) {
      // Under a new leader the sessions keep waiting, but the metric alerts admins.
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

  /** Returns whether the cluster enforces NetworkPolicies. Undefined if the round had no result. */
  async #round(config: ProbeConfig, signal: AbortSignal): Promise<boolean | undefined> {
    const { logger } = this.#deps;
    try {
      await this.#removePods(); // Pods of an earlier leader that died.
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
      if (!(await sleepUntilAborted(clock, pace.lookMs, signal))) return undefined;
      pod = await pods.find(metadata, { signal });
    }
    return pod && outcomeOf(pod);
  }

  #removePods(): Promise<void> {
    const { pods, namespace } = this.#deps;
    return removePods(pods, { namespace, labelSelector: labels.networkProbe });
  }
}
