import { Registry } from "prom-client";
import { LeaderElector, type LeaderElectorOptions } from "#kube/controllers/leaderElector.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Operator } from "./operator.ts";

/** Dependencies of Terms. */
export interface TermsOptions {
  /** Returns separate connections to the API server for a term. */
  connect: () => KubeTransport;
  createOperator: (transport: KubeTransport, registry: Registry) => Operator;
  /** Options of the elections, which outlive the terms. */
  election: Omit<LeaderElectorOptions, "onLost">;
  logger: Logger;
}

/** A term lasts from the first watch of the cluster to the loss of leadership. */
interface Term {
  /** The term's metrics. */
  registry: Registry;
  transport: KubeTransport;
  operator: Operator;
  elector: LeaderElector;
  lost: Promise<undefined>;
}

/**
 * Watches the cluster, runs for election and leads, one term after another in one process. Writes of a former
 * leader could undo those of the next leader, so a term that loses leadership also loses its connections, and
 * nothing that it still does is sent. The next term starts from scratch, like a new process.
 */
export class Terms {
  readonly #options: TermsOptions;
  #term: Term;

  constructor(options: TermsOptions) {
    this.#options = options;
    this.#term = this.#begin();
  }

  get isLeader(): boolean {
    return this.#term.elector.isLeader;
  }

  /** The current term's metrics. */
  get registry(): Registry {
    return this.#term.registry;
  }

  notReadyReason(): string | undefined {
    return this.#term.operator.notReadyReason();
  }

  /**
   * Runs one term after another. Rejects when stopped. Calls `onWatching` when all caches of a term are
   * filled.
   */
  async run(stopping: AbortSignal, onWatching: () => void): Promise<never> {
    const { logger } = this.#options;
    for (;;) {
      const { operator, elector, lost } = this.#term;
      await operator.watch(stopping);
      onWatching();
      await elector.start();
      await operator.lead(stopping);
      logger.info({}, "The operator leads and is running.");
      await lost;
      await operator.stop();
      stopping.throwIfAborted();
      logger.info({}, "The operator is a candidate again.");
      this.#term = this.#begin();
    }
  }

  /** Stops the controllers and gives up leadership. */
  async stop(): Promise<void> {
    const { operator, elector, transport } = this.#term;
    await operator.stop();
    await elector.stop();
    await transport.close();
  }

  #begin(): Term {
    const { connect, createOperator, election, logger } = this.#options;
    const registry = new Registry();
    const transport = connect();
    const lost = Promise.withResolvers<undefined>();
    const onLost = (): void => {
      transport
        .close()
        .catch((error: unknown) =>
          logger.warn({ err: error }, "The connections to the API server did not close cleanly."),
        );
      lost.resolve(undefined);
    };
    return {
      registry,
      transport,
      operator: createOperator(transport, registry),
      elector: new LeaderElector({ ...election, onLost }),
      lost: lost.promise,
    };
  }
}
