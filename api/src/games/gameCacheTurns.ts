import { BoundedQueue } from "#runtime/scheduling/boundedQueue.ts";
import { unavailable } from "../errors.ts";

/**
 * Bounds how many changes of GameCaches a process has on their way to the cluster: each holds a connection to
 * the database until the API server has answered, and a slow one would take them all.
 */
export class GameCacheTurns extends BoundedQueue {
  constructor() {
    super({
      concurrency: 2,
      waitingMax: 16,
      deadlineMs: 3_000,
      tooMany: () => unavailable("The cluster takes long for changes of GameCaches just now."),
    });
  }
}
