import { isFinished } from "#contracts/crd/sessionState.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import {
  releaseSlot,
  listUnreleasedGameSessions,
  updateSlowStopsEnded,
  type UnreleasedGameSession,
} from "./slotQueries.ts";
import { adoptNewestSave } from "./recordSaves.ts";
import { isSaveAwaited } from "./recordFinished.ts";
import { savePatienceMs } from "../../saves/sweepSaves.ts";
import { RefusedRows, refusedPerPassMax } from "../../stores/sweepRows.ts";
import type { Deps } from "../../deps.ts";

type ReleaseSlotsDeps = Pick<Deps, "logger" | "postgres" | "objectStore" | "cluster" | "clock">;

/** Maximum time that a player waits for their slot after an outage of the object store. */
export const refusedSlotMaxMs = 60_000;
/**
 * A player can play again within a minute of the stop: this time, one sweeper pass, and some seconds for a
 * busy database.
 */
const slowStopSeconds = 50;
const sessionsPerPage = 1000;
/** More sessions than any cluster ends in the day that slots are held. */
const pagesPerPassMax = 100;
/**
 * One hour after its last save was given up, a session loses its slot even if the object store cannot be
 * searched.
 */
const overdueMs = savePatienceMs + 3600_000;

/**
 * Frees players whose session takes long to end. The slot stays with the session, and its result is stored
 * when it arrives.
 */
export async function freePlayers({ postgres, logger }: Pick<Deps, "postgres" | "logger">): Promise<void> {
  for (const id of await updateSlowStopsEnded(postgres.pool, slowStopSeconds)) {
    logger.warn(
      { gameSession: id },
      "A game session takes long to end. Its player can play again; its slot stays reserved.",
    );
  }
}

/**
 * Releases the slots of ended sessions that may have an unreported save: lost and vanished ones, those whose
 * node was lost after the end, and those whose last save was given up. First the slot gets the newest save
 * from the object store. Returns the sessions' ids. If the object store is unavailable, slots stay with their
 * sessions until overdue: none is released before its saves were searched once, however long the API was
 * unavailable.
 */
export async function releaseSlots(
  deps: ReleaseSlotsDeps,
  refused = new RefusedRows(deps.clock, refusedSlotMaxMs),
): Promise<string[]> {
  const released: string[] = [];
  const waiting = new Set(refused.waiting);
  let refusedCount = 0;
  for await (const session of unreleasedGameSessions(deps)) {
    if (refusedCount === refusedPerPassMax) break;
    if (!isReleaseDue(deps, session)) continue;
    const isWaiting = waiting.has(session.id);
    const isUpToDate = !isWaiting && (await bringUpToDate(deps, refused, session));
    if (!isWaiting && !isUpToDate) refusedCount++;
    if (!isUpToDate && ageMs(session) < overdueMs) continue;
    // Only a session with a result whose saves were searched is known to have left its slot unused.
    await releaseSlot(
      deps.postgres.pool,
      session.id,
      session.readyAt !== null || !session.isRecorded || !isUpToDate,
    );
    const keys = { gameSession: session.id, slot: session.slotId };
    if (isUpToDate) deps.logger.info(keys, "The recorder released the slot of an ended game session.");
    else
      deps.logger.warn(
        keys,
        "The recorder released the slot of a game session whose saves it could not read. Its stored saves become conflict copies.",
      );
    released.push(session.id);
  }
  return released;
}

/**
 * Yields all of them, page by page, so that sessions that are not due, or wait for the object store, delay no
 * others.
 */
async function* unreleasedGameSessions({
  postgres: { pool },
}: ReleaseSlotsDeps): AsyncGenerator<UnreleasedGameSession> {
  let last: UnreleasedGameSession | undefined;
  for (let page = 0; page < pagesPerPassMax; page++) {
    const sessions = await listUnreleasedGameSessions(pool, savePatienceMs / 1000, sessionsPerPage, last);
    yield* sessions;
    last = sessions.at(-1);
    if (sessions.length < sessionsPerPage) return;
  }
}

/** Moves the slot to the session's newest save. Returns false if the object store is unavailable. */
async function bringUpToDate(
  deps: ReleaseSlotsDeps,
  refused: RefusedRows,
  { id, slotId }: UnreleasedGameSession,
): Promise<boolean> {
  if (slotId === null) return true;
  return refused.attempt(
    id,
    () => adoptNewestSave(deps, slotId, id),
    (error) => {
      deps.logger.error(
        { err: error, gameSession: id, slot: slotId },
        "A session's saves could not be listed or read; its slot stays reserved.",
      );
    },
  );
}

/**
 * Without an object nothing more is reported, from a silent session nothing after a day, and from a lost node
 * perhaps never.
 */
function isReleaseDue({ cluster }: ReleaseSlotsDeps, session: UnreleasedGameSession): boolean {
  const gameSession = cluster.gameSession(session.id);
  if (gameSession === undefined || ageMs(session) >= savePatienceMs) return true;
  return (
    isFinished(gameSession) &&
    (!isSaveAwaited(gameSession) || isNodeLost(cluster, gameSession.status?.nodeName))
  );
}

/** Returns the milliseconds since the session ended. */
function ageMs({ endedAt, now }: UnreleasedGameSession): number {
  return now.getTime() - endedAt.getTime();
}

/**
 * Returns whether the node is lost, which the object does not show if that happened after the end. A node
 * removed from the cluster has no GameNode.
 */
function isNodeLost({ gameNodes }: ClusterView, nodeName: string | undefined): boolean {
  if (nodeName === undefined || !gameNodes.hasSynced) return false;
  const gameNode = gameNodes.cache.get(nodeName);
  return gameNode === undefined || isConditionTrue(gameNode.status?.conditions, "Lost");
}
