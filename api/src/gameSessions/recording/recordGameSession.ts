import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import type { Stored } from "#kube/api/object.ts";
import { hasFinalizer } from "#kube/controllers/finalizers.ts";
import { isFinished, hasEnded, publicStatusOf, isOngoing } from "#contracts/crd/sessionState.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { isSaveSuspect, saveNoticeOf } from "./saveNotice.ts";
import { releaseSlot } from "./slotQueries.ts";
import {
  findRecordedGameSession,
  updateGameSessionCreated,
  updateGameSessionRunning,
  updateGameSessionStopping,
  updateSaveNotice,
  type RecordedGameSession,
} from "./lifecycleQueries.ts";
import { isSaveUnreported, stopReasonOf, recordFinished } from "./recordFinished.ts";
import {
  credibleSave,
  recordRequestedSave,
  recordSave,
  recordSuspectSave,
  recordUnreadableSave,
} from "./recordSaves.ts";
import { recordVanished } from "./recordFailures.ts";
import type { Deps } from "../../deps.ts";

/** What recording a session needs. */
export type RecorderDeps = Pick<
  Deps,
  "logger" | "metrics" | "postgres" | "objectStore" | "cluster" | "gameSessionWriter"
>;

/**
 * Reconciles one session: updates the row to the object's state, and the object to the row's wish. It reads
 * both again and writes only with guarded statements, so it may run twice, late, or in two processes at
 * once.
 */
export async function recordGameSession(deps: RecorderDeps, id: string): Promise<void> {
  const row = await findRecordedGameSession(deps.postgres.pool, id);
  const gameSession = deps.cluster.gameSession(id);
  if (gameSession === undefined) return recordAbsent(deps, id, row);
  if (row === undefined) return recordOrphan(deps, gameSession);
  if (row.crCreatedAt === null) await updateGameSessionCreated(deps.postgres.pool, id);
  const save = credibleSave(deps, row, gameSession);
  if (save !== undefined) {
    await recordSave(deps, row, save);
    await recordRequestedSave(deps, row, save);
    if (isFinished(gameSession) && save.final && isSaveSuspect(gameSession))
      await recordSuspectSave(deps, row, save);
  }
  if (row.recordedAt === null) await recordUnreadableSave(deps, row.id, gameSession);
  if (isFinished(gameSession)) return recordResult(deps, row, gameSession);
  await recordProgress(deps, row, gameSession);
  await repeatStop(deps, (await findRecordedGameSession(deps.postgres.pool, id)) ?? row, gameSession);
}

/**
 * Handles a row without an object: the relay creates one that never existed, any other is lost. Its stored
 * saves are looked up when its slot is released.
 */
async function recordAbsent(
  deps: RecorderDeps,
  id: string,
  row: RecordedGameSession | undefined,
): Promise<void> {
  if (row === undefined || (row.status === "starting" && row.crCreatedAt === null)) return;
  if (row.recordedAt !== null) return;
  // The cache may lag behind, so the API server is asked whether the object is gone.
  if ((await deps.gameSessionWriter.find(id)) === undefined) await recordVanished(deps, id);
}

/** Stops an object without a row, as after a restored database, and releases it once it has finished. */
async function recordOrphan(
  { gameSessionWriter, logger }: RecorderDeps,
  gameSession: Stored<GameSession>,
): Promise<void> {
  if (!hasFinalizer(gameSession, finalizers.recorder)) return; // An admin's own session.
  if (isFinished(gameSession)) return gameSessionWriter.release(gameSession);
  if (gameSession.spec.desiredState === "Stopped") return;
  logger.warn(
    { gameSession: gameSession.metadata.name },
    "The recorder stops a game session that has no row in the database.",
  );
  await gameSessionWriter.requestStop(gameSession.metadata.name, stopReasons.deleted);
}

async function recordResult(
  deps: RecorderDeps,
  row: RecordedGameSession,
  gameSession: Stored<GameSession>,
): Promise<void> {
  if (row.recordedAt === null) await recordFinished(deps, row, gameSession);
  if (!hasFinalizer(gameSession, finalizers.recorder)) return;
  // Until its last save is reported there, the object must stay. releaseSlots decides when it is given up.
  if (row.slotReleasedAt === null && isSaveUnreported(gameSession)) return;
  const notice = saveNoticeOf(gameSession, false);
  if (notice !== undefined) await updateSaveNotice(deps.postgres.pool, row.id, notice);
  if (row.slotReleasedAt === null)
    await releaseSlot(deps.postgres.pool, row.id, gameSession.status?.readyAt !== undefined);
  await deps.gameSessionWriter.release(gameSession);
}

async function recordProgress(
  { postgres, logger }: RecorderDeps,
  row: RecordedGameSession,
  gameSession: GameSession,
): Promise<void> {
  if (hasEnded(row.status)) return;
  const { status } = gameSession;
  const publicStatus = publicStatusOf(gameSession);
  if (publicStatus === "running" && status?.readyAt !== undefined) {
    const isNew = await updateGameSessionRunning(postgres.pool, row.id, status.readyAt, status.nodeName);
    if (isNew) logger.info({ gameSession: row.id, node: status.nodeName }, "A game session is running.");
  } else if (publicStatus === "stopping") {
    await updateGameSessionStopping(postgres.pool, row.id, stopReasonOf(gameSession), status?.readyAt);
  }
}

/** Repeats a stop request that was stored while the API server was unavailable. */
async function repeatStop(
  { gameSessionWriter }: RecorderDeps,
  row: RecordedGameSession,
  gameSession: GameSession,
): Promise<void> {
  if (
    isOngoing(row.status) ||
    gameSession.spec.desiredState === "Stopped" ||
    gameSession.metadata.deletionTimestamp !== undefined
  )
    return;
  // The operator is already stopping it, with its own reason.
  if (gameSession.status?.stoppingAt !== undefined) return;
  await gameSessionWriter.requestStop(row.id, row.stopReason ?? stopReasons.userRequested);
}
