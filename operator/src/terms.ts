import { Registry } from "prom-client";
import { LeaderElector, type LeaderElectorOptions } from "#kube/controllers/leaderElector.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Operator } from "./operator.ts";

/** What terms are made of. */
export interface TermsOptions {
  /** Returns connections of the term's own to the API server. */
  connect: () => KubeTransport;
  createOperator: (transport: KubeTransport, registry: Registry) => Operator;
  /** The options of the elections, which outlive the terms. */
  election: Omit<LeaderElectorOptions, "onLost">;
  logger: Logger;
}

/** A term lasts from the first look at the cluster to the loss of the lead. */
interface Term {
  /** What it counts and shows. */
  registry: Registry;
  transport: KubeTransport;
  operator: Operator;
  elector: LeaderElector;
  lost: Promise<undefined>;
}

/**
 * Watches the cluster, stands for election and leads, one term after the other in one process. A former
 * leader's writes could undo those of the next leader. So a term that loses the lead loses its connections,
 * too: nothing that it still does is sent. The next term takes nothing over from it and begins as a new
 * process would.
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

  /** What this term counts and shows. */
  get registry(): Registry {
    return this.#term.registry;
  }

  notReadyReason(): string | undefined {
    return this.#term.operator.notReadyReason();
  }

  /**
   * Goes from term to term until it is stopped, which rejects it. `onWatching` is called when all caches of a
   * term are filled.
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
