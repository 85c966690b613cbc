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

/** After an outage of the object store a player waits no longer than this for their slot. */
export const refusedSlotMaxMs = 60_000;
/**
 * A player is free within a minute of their stop: this, a pass of the sweeper, and some seconds for a busy
 * database.
 */
const slowStopSeconds = 50;
const sessionsPerPage = 1000;
/** More sessions than any cluster ends in the day for which their slots wait. */
const pagesPerPassMax = 100;
/**
 * An hour after a session's last save was given up its slot is taken, even where the object store cannot be
 * asked for it.
 */
const overdueMs = savePatienceMs + 3600_000;

/**
 * Frees the players whose session takes long to end; the slot stays with the session, and its result is
 * stored when it comes.
 */
export async function freePlayers({ postgres, logger }: Pick<Deps, "postgres" | "logger">): Promise<void> {
  for (const id of await updateSlowStopsEnded(postgres.pool, slowStopSeconds)) {
    logger.warn(
      { gameSession: id },
      "A game session takes long to end: its player may play again, its slot waits for it.",
    );
  }
}

/**
 * Releases the slots of ended sessions that may have left a save which nobody reported: lost ones, vanished
 * ones, those whose node was lost after their end, and those whose last save was given up. Before that the
 * slot gets the newest save that the object store has of them. Returns the sessions' ids. Slots of which the
 * object store cannot be asked stay with their sessions until they are overdue: none is taken before its
 * saves were looked for once, however long the API was unavailable.
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
    // Only of a session that has a result, and whose saves were looked for, is it known that it left its slot
    // unused.
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
        "The recorder released the slot of a game session whose saves it could not read: what is stored of it becomes a conflict copy.",
      );
    released.push(session.id);
  }
  return released;
}

/**
 * Passes all of them, page by page: those that are not due, or wait for the object store, hold up none behind
 * them, and cost a look into memory.
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

/**
 * Moves the slot to the newest save of the session. Returns false when the object store cannot be asked for
 * it.
 */
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
        "A session's saves could not be listed or read; its slot waits for them.",
      );
    },
  );
}

/**
 * Without an object nothing more is reported of the session, of a silent one nothing after a day, and of one
 * on a lost node perhaps never.
 */
function isReleaseDue({ cluster }: ReleaseSlotsDeps, session: UnreleasedGameSession): boolean {
  const gameSession = cluster.gameSession(session.id);
  if (gameSession === undefined || ageMs(session) >= savePatienceMs) return true;
  return (
    isFinished(gameSession) &&
    (!isSaveAwaited(gameSession) || isNodeLost(cluster, gameSession.status?.nodeName))
  );
}

/** Returns how long ago the session ended. */
function ageMs({ endedAt, now }: UnreleasedGameSession): number {
  return now.getTime() - endedAt.getTime();
}

/**
 * Whether the node is lost by now: the object does not say so of one that was lost after the session's end. A
 * node that the cluster has removed has no GameNode.
 */
function isNodeLost({ gameNodes }: ClusterView, nodeName: string | undefined): boolean {
  if (nodeName === undefined || !gameNodes.hasSynced) return false;
  const gameNode = gameNodes.cache.get(nodeName);
  return gameNode === undefined || isConditionTrue(gameNode.status?.conditions, "Lost");
}
