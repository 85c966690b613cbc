import { setTimeout as delay } from "node:timers/promises";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { hasEnded } from "#contracts/crd/sessionState.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { hasFinalizer } from "#kube/controllers/finalizers.ts";
import { notFound } from "../../errors.ts";
import { leaveQueue } from "../queue/leaveQueue.ts";
import { recordVanished } from "../recording/recordFailures.ts";
import {
  findGameSession,
  updateGameSessionStopRequested,
  type GameSessionRow,
} from "./gameSessionQueries.ts";
import type { Deps } from "../../deps.ts";

type StopDeps = Pick<Deps, "config" | "logger" | "metrics" | "postgres" | "cluster" | "gameSessionWriter">;

/** Delay between reads of a row whose object is gone, until the recorder has stored the result. */
const recheckMs = 100;

/**
 * Stops the user's session gracefully and waits for its result. Returns undefined if the stop outlasts the
 * wait; it then continues in the background. A session in the queue ends at once. Idempotent.
 *
 * @throws DomainError `not_found`.
 */
export async function stopGameSession(
  deps: StopDeps,
  userId: string,
  id: string,
): Promise<GameSessionRow | undefined> {
  const { pool } = deps.postgres;
  await updateGameSessionStopRequested(pool, id, userId, stopReasons.userRequested);
  const row = await findGameSession(pool, id, userId);
  if (row === undefined) throw notFound("This session does not exist.");
  if (hasEnded(row.status)) return row;
  // Again from the start, because its player may just have confirmed the seat in another tab.
  if (row.queue !== null) {
    await leaveQueue(deps, userId, id);
    return stopGameSession(deps, userId, id);
  }
  if (!(await requestStopInCluster(deps, id))) return undefined;
  return waitForEnd(deps, id, userId);
}

/** Returns false if the cluster is unavailable. The recorder then repeats the request. */
async function requestStopInCluster(deps: StopDeps, id: string): Promise<boolean> {
  try {
    if (deps.cluster.gameSession(id)?.spec.desiredState === "Stopped") return true;
    const isThere = await deps.gameSessionWriter.requestStop(id, stopReasons.userRequested);
    if (!isThere) await recordVanished(deps, id);
    return true;
  } catch (error) {
    deps.logger.warn(
      { err: error, gameSession: id },
      "The API could not ask the cluster to stop a game session; the recorder will.",
    );
    return false;
  }
}

async function waitForEnd(
  { config, cluster, postgres }: StopDeps,
  id: string,
  userId: string,
): Promise<GameSessionRow | undefined> {
  const deadlineMs = performance.now() + config.gameSession.stopWaitSeconds * 1000;
  await cluster.waitForGameSession(id, isReleased, deadlineMs - performance.now());
  for (;;) {
    const row = await findGameSession(postgres.pool, id, userId);
    if (row === undefined || hasEnded(row.status)) return row;
    if (performance.now() >= deadlineMs) return undefined;
    await delay(recheckMs);
  }
}

/** Returns whether the recorder has removed its finalizer, which it does once the result is stored. */
function isReleased(gameSession: GameSession | undefined): boolean {
  return gameSession === undefined || !hasFinalizer(gameSession, finalizers.recorder);
}
