import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { findQueueState, type QueueState } from "./queueQueries.ts";

/** How long a result is reused. */
const keptMs = 1_000;

/** Returns a function that reads the queue's state, at most once a second however often it is called. */
export function createQueueStateReader({
  postgres,
  clock,
}: {
  postgres: Postgres;
  clock: Clock;
}): () => Promise<QueueState> {
  let last: { state: Promise<QueueState>; atMs: number } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (last === undefined || nowMs - last.atMs >= keptMs)
      last = { state: findQueueState(postgres.pool), atMs: nowMs };
    return last.state;
  };
}
