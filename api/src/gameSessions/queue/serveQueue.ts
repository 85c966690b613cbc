import { recordedFailureReasons, stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { lockLaunches } from "../../saves/playerSlotQueries.ts";
import type { Queryable } from "../../stores/queryable.ts";
import { findClusterContext, updateQueuedPassed } from "../launching/launchQueries.ts";
import { planSeats, SeatRoom } from "../launching/planSeats.ts";
import {
  endQueued,
  findQueueState,
  listLapsedQueued,
  measureQueue,
  updateQueuedOffered,
  updateQueueServed,
} from "./queueQueries.ts";
import type { Deps } from "../../deps.ts";

type QueueDeps = Pick<Deps, "logger" | "metrics" | "postgres" | "cluster" | "maintenance">;

/** Longer than the interval between two passes and a change of leader. */
const maxGapSeconds = 30;

const lapsed = { status: "stopped", stopReason: stopReasons.idleTimeout } as const;
const stopped = { status: "stopped", stopReason: stopReasons.deleted } as const;
const failed = {
  status: "error",
  stopReason: stopReasons.failed,
  failureReason: recordedFailureReasons.launchFailed,
} as const;
const unavailable = { ...failed, failureReason: recordedFailureReasons.gameUnavailable } as const;

/** How a session ends that can wait no longer. */
const endOf = { silent: lapsed, unconfirmed: lapsed, unavailable, disabled: stopped } as const;

/**
 * Ends queued launches that can wait no longer and offers free seats to the next ones. All of it happens
 * under the launch lock, so any number of replicas may do it at once, together with launches.
 */
export async function serveQueue(deps: QueueDeps): Promise<void> {
  const { postgres } = deps;
  if ((await findQueueState(postgres.pool)).length === 0) return;
  await postgres.transaction((transaction) => serveWithin(deps, transaction), lockLaunches);
}

async function serveWithin(
  { logger, metrics, cluster, maintenance }: QueueDeps,
  transaction: Queryable,
): Promise<void> {
  await updateQueueServed(transaction, maxGapSeconds);
  for (const { id, lapse } of await listLapsedQueued(transaction)) {
    await endQueued(transaction, [id], endOf[lapse]);
    metrics.queueLeft(lapse === "disabled" ? "left" : lapse);
    logger.info({ gameSession: id, lapse }, "A game session lost its place in the queue.");
  }
  // Nothing can be placed without the cluster's nodes and sessions.
  if (maintenance.current() !== undefined || !cluster.hasSynced) return;
  const context = await findClusterContext(transaction);
  const { seated, passed, hopeless } = planSeats(context.queue, new SeatRoom(cluster, context));
  await updateQueuedPassed(transaction, passed);
  await updateQueuedOffered(transaction, seated, true);
  for (const id of await endQueued(transaction, hopeless, failed)) {
    metrics.queueLeft("unavailable");
    logger.warn({ gameSession: id }, "A queued game session ended, because no node is large enough for it.");
  }
  for (const id of seated) logger.info({ gameSession: id }, "A queued game session was offered a seat.");
  await measureQueue(transaction, context.activeSessions + seated.length);
}
