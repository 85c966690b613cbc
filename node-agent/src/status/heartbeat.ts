import { fieldManagers } from "#contracts/crd/names.ts";
import { limits } from "#contracts/limits.ts";
import type { Lease } from "#kube/api/builtin.ts";
import { isForbidden, isInvalid, isNotFound } from "#kube/api/errors.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import { toApiMicroTime } from "#kube/api/object.ts";
import { RepeatedJob } from "#runtime/scheduling/backgroundJob.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";

/** Whose heartbeat it is, and where it goes. */
export interface HeartbeatOptions {
  node: string;
  namespace: string;
  client: ResourceClient<Lease>;
  /** Whether this installation has the node. If it does not, there is nothing to say. */
  isServed: () => boolean;
  /** Called when the Lease begins, or ceases, to say that this agent lives. */
  onChange: () => void;
  clock: Clock;
  logger: Logger;
}

/**
 * Renews the Lease that the operator made for this node: a write of some hundred bytes, whatever the node
 * holds. An operator of an earlier release makes no Lease, and its chart lets no agent write one. Then the
 * GameNode's status has to say that the agent lives.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #job: RepeatedJob;
  #isKept = false;

  constructor(options: HeartbeatOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#job = new RepeatedJob({
      name: "heartbeat",
      periodMs: limits.node.heartbeatSeconds * 1000,
      clock,
      logger,
      work: (signal) => this.#renew(signal),
    });
  }

  /**
   * Whether the Lease says that this agent lives; it goes on to be so while the API server cannot be reached.
   */
  get isKept(): boolean {
    return this.#isKept;
  }

  start(): void {
    this.#job.start();
  }

  stop(): Promise<void> {
    return this.#job.stop();
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { node, namespace, client, isServed, clock } = this.#options;
    if (!isServed()) return;
    const { heartbeatSeconds, heartbeatStaleSeconds: leaseDurationSeconds } = limits.node;
    const spec = { holderIdentity: node, leaseDurationSeconds, renewTime: toApiMicroTime(clock.now()) };
    try {
      await client.mergePatch(
        { namespace, name: node },
        { spec },
        { fieldManager: fieldManagers.nodeAgent, signal, deadlineMs: heartbeatSeconds * 1000 },
      );
      this.#set(true);
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error) && !isInvalid(error)) throw error;
      this.#set(false);
    }
  }

  #set(isKept: boolean): void {
    if (isKept === this.#isKept) return;
    this.#isKept = isKept;
    this.#options.logger.info(
      { isKept },
      isKept
        ? "This node's Lease says from now on that its agent lives."
        : "This node has no Lease that its agent may renew: the GameNode says that it lives.",
    );
    this.#options.onChange();
  }
}
