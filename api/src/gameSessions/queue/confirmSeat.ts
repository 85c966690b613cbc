import { limits } from "#contracts/limits.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { DomainError, notFound } from "../../errors.ts";
import { refuseInMaintenance } from "../../maintenance/maintenanceWatch.ts";
import { lockLaunches } from "../../saves/playerSlotQueries.ts";
import { createInCluster, type LaunchDeps, type LaunchedSession } from "../launching/launchGame.ts";
import { findClusterContext } from "../launching/launchQueries.ts";
import { SeatRoom } from "../launching/planSeats.ts";
import {
  findQueuedGameSession,
  updateQueuedOffered,
  updateQueuedStarted,
  type QueuedGameSession,
} from "./queueQueries.ts";
import type { Queryable } from "../../stores/queryable.ts";
import type { Deps } from "../../deps.ts";

type ConfirmDeps = Pick<LaunchDeps, "logger" | "postgres" | "maintenance" | "gameSessionWriter"> &
  Pick<Deps, "cluster" | "metrics" | "streamTickets">;

/**
 * Starts the user's queued session on the seat that is held for it. If the seat is lost, the session keeps
 * its place in the queue. Idempotent.
 *
 * @throws DomainError `maintenance`, `not_found`, `conflict` when no seat is ready, or `no_servers` when the
 *   cluster cannot be reached.
 */
export async function confirmSeat(deps: ConfirmDeps, userId: string, id: string): Promise<LaunchedSession> {
  refuseInMaintenance(deps.maintenance);
  const started = await deps.postgres.transaction(
    (transaction) => startQueued(deps, transaction, userId, id),
    lockLaunches,
  );
  if (typeof started === "object") {
    deps.metrics.queueLeft("seated");
    await createInCluster(deps, { id, spec: started });
  }
  return { id, isQueued: started === "seat_lost" };
}

/** Returns the spec of the session that starts now. */
async function startQueued(
  deps: ConfirmDeps,
  transaction: Queryable,
  userId: string,
  id: string,
): Promise<GameSessionSpec | "confirmed_before" | "seat_lost"> {
  const session = await findQueuedGameSession(transaction, id, userId);
  if (session === undefined) throw notFound("This session does not exist or has ended.");
  if (!session.isQueued) return "confirmed_before";
  if (!session.mayPlay) throw notFound("This game is no longer available."); // The next pass ends the session.
  if (!session.hasSeat)
    throw new DomainError("conflict", {
      message: "No seat is ready yet. Wait until the session's status contains confirmBy.",
    });
  if (!(await isSeatLeft(deps, transaction, session))) {
    await updateQueuedOffered(transaction, [id], false);
    deps.logger.info({ gameSession: id }, "The seat of a queued game session was lost before it started.");
    return "seat_lost";
  }
  const spec = startingSpec(deps, session);
  await updateQueuedStarted(transaction, id, spec);
  return spec;
}

/** Returns whether there is still room: a node may have failed since the seat was offered. */
async function isSeatLeft(
  { cluster }: ConfirmDeps,
  transaction: Queryable,
  { id, spec }: QueuedGameSession,
): Promise<boolean> {
  const context = await findClusterContext(transaction);
  const room = new SeatRoom(cluster, {
    ...context,
    activeSessions: context.activeSessions - 1,
    queue: context.queue.filter((launch) => launch.id !== id),
  });
  return room.freeSlots > 0 && room.shortageFor(spec) === undefined;
}

/** Replaces what may have become stale while the session waited. */
function startingSpec({ streamTickets }: ConfirmDeps, { spec, now }: QueuedGameSession): GameSessionSpec {
  const graceSeconds = spec.idleTimeoutSeconds * limits.gameSession.expiryMargin;
  return {
    ...spec,
    ticketPublicKey: streamTickets.publicKey,
    expiresAt: new Date(now.getTime() + graceSeconds * 1000).toISOString(),
  };
}
