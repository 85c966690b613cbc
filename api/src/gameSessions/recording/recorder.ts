import type { GameSession } from "#contracts/crd/gameSession.ts";
import { Controller } from "#kube/controllers/controller.ts";
import { fromCache } from "#kube/cache/source.ts";
import { refOf } from "#kube/api/object.ts";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { UnrecordedGameSession } from "./lifecycleQueries.ts";
import { recordGameSession, type RecorderDeps } from "./recordGameSession.ts";

/** Follows the cluster's game sessions and records their states in the database. */
export class Recorder {
  readonly #deps: RecorderDeps;
  readonly #controller: Controller;
  readonly #namespace: string;
  /** By session id: the resource version of its object that was recorded last. */
  readonly #recorded = new Map<string, string>();

  constructor(deps: RecorderDeps, sessionsNamespace: string) {
    this.#deps = deps;
    this.#namespace = sessionsNamespace;
    this.#controller = new Controller({
      name: "recorder",
      sources: [fromCache(deps.cluster.gameSessions)],
      reconcile: (key) => this.#record(refOf(key).name),
      logger: deps.logger,
      workers: 4,
      timeoutMs: 20_000,
      backOff: { baseMs: 100, maxMs: 15_000 },
      metrics: deps.metrics.kube.controller("recorder"),
    });
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#controller.start(signal);
  }

  /** Queues these sessions for reconciliation. Their objects need not exist. */
  enqueue(ids: readonly string[]): void {
    for (const id of ids) this.#controller.enqueue(`${this.#namespace}/${id}`);
  }

  /**
   * Queues sessions that differ from their objects, or whose objects have changed since they were recorded.
   */
  enqueueUnsettled(rows: readonly UnrecordedGameSession[]): void {
    const { cluster } = this.#deps;
    this.enqueue(
      rows
        .filter((row) => {
          const gameSession = cluster.gameSession(row.id);
          return (
            gameSession === undefined ||
            gameSession.metadata.resourceVersion !== this.#recorded.get(row.id) ||
            !isSettled(row, gameSession)
          );
        })
        .map(({ id }) => id),
    );
  }

  async stop(): Promise<void> {
    await this.#controller.stop();
  }

  async #record(id: string): Promise<void> {
    const metadata = this.#deps.cluster.gameSession(id)?.metadata;
    await recordGameSession(this.#deps, id);
    if (metadata === undefined) this.#recorded.delete(id);
    // Uses the object's name as key, which is in memory anyway: `id` is a slice that would keep its whole key
    // alive.
    else this.#recorded.set(metadata.name, metadata.resourceVersion);
  }
}

/** Returns whether row and object of a session that has not ended agree, so there is nothing to do. */
function isSettled(
  row: Pick<UnrecordedGameSession, "status" | "isCreated">,
  gameSession: GameSession,
): boolean {
  return row.isCreated && row.status === publicStatusOf(gameSession);
}
