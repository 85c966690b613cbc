import { setTimeout as delay } from "node:timers/promises";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { hasEnded } from "#contracts/crd/sessionState.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { hasFinalizer } from "#kube/controllers/finalizers.ts";
import { notFound } from "../../errors.ts";
import { recordVanished } from "../recording/recordFailures.ts";
import {
  findGameSession,
  updateGameSessionStopRequested,
  type GameSessionRow,
} from "./gameSessionQueries.ts";
import type { Deps } from "../../deps.ts";

type StopDeps = Pick<Deps, "config" | "logger" | "postgres" | "cluster" | "gameSessionWriter">;

/** Between two reads of a row whose object is gone already: the recorder needs a moment to store the end. */
const recheckMs = 100;

/**
 * Stops the user's session gracefully and waits for its result. Returns the ended row, or undefined when the
 * end takes longer than the API waits; the session goes on stopping by itself. May be repeated at any time.
 * Throws not_found.
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
  if (!(await requestStopInCluster(deps, id))) return undefined;
  return waitForEnd(deps, id, userId);
}

/** Returns false when the cluster is unavailable: the recorder repeats the request as soon as it can. */
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

/** Whether the recorder has removed its finalizer, which it does when the result is in the database. */
function isReleased(gameSession: GameSession | undefined): boolean {
  return gameSession === undefined || !hasFinalizer(gameSession, finalizers.recorder);
}
