import { Controller } from "#kube/controller.ts";
import { refOf } from "#kube/object.ts";
import { fromCache } from "#kube/source.ts";
import type { RecorderDeps } from "./recorderDeps.ts";
import { recordGameSession } from "./recordGameSession.ts";

/** Follows the cluster's game sessions and records their states in the database. */
export class Recorder {
  readonly #controller: Controller;
  readonly #namespace: string;

  constructor(deps: RecorderDeps, sessionsNamespace: string) {
    this.#namespace = sessionsNamespace;
    this.#controller = new Controller({
      name: "recorder",
      sources: [fromCache(deps.cluster.gameSessions)],
      reconcile: (key) => recordGameSession(deps, refOf(key).name),
      logger: deps.logger,
      workers: 4,
      timeoutMs: 20_000,
      backOff: { baseMs: 100, maxMs: 15_000 },
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#controller.start(signal);
  }

  /** Queues these sessions for a reconciliation; the cluster may have no objects of them. */
  enqueue(ids: readonly string[]): void {
    for (const id of ids) this.#controller.enqueue(`${this.#namespace}/${id}`);
  }

  async stop(): Promise<void> {
    await this.#controller.stop();
  }
}
