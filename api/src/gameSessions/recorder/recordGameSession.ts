import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { hasFinalizer } from "#kube/finalizers.ts";
import type { Stored } from "#kube/object.ts";
import { markCreated } from "../gameSessionStore.ts";
import { saveNoticeOf } from "../saveNotice.ts";
import { moveSlot, noteSave, readRecord, recordReady, recordStopping, unlockSlot, type RecordedSession } from "../gameSessionRecord.ts";
import { isSavePending, stopReasonOf } from "./ending.ts";
import type { RecorderDeps } from "./recorderDeps.ts";
import { recordFinished } from "./recordFinished.ts";
import { recordVanished } from "./recordVanished.ts";

/**
 * Brings one session's row up to what the cluster says of it, and the object to what the row wants. Looks at both anew,
 * writes only through guarded statements, and so may run twice, late, or in two processes at once.
 */
export async function recordGameSession(deps: RecorderDeps, id: string): Promise<void> {
  const row = await readRecord(deps.postgres.pool, id);
  const gameSession = deps.cluster.gameSession(id);
  if (gameSession === undefined) return recordAbsent(deps, id, row);
  if (row === undefined) return recordOrphan(deps, gameSession);
  if (row.crCreatedAt === null) await markCreated(deps.postgres.pool, id);
  await recordSave(deps, row, gameSession);
  if (isFinished(gameSession)) return recordResult(deps, row, gameSession);
  if (isActive(row)) await recordProgress(deps, row, gameSession);
  await repeatStop(deps, await readRecord(deps.postgres.pool, id) ?? row, gameSession);
}

/** A row without an object: the relay's to make when there never was one, lost otherwise. */
async function recordAbsent(deps: RecorderDeps, id: string, row: RecordedSession | undefined): Promise<void> {
  if (row === undefined || (row.status === "starting" && row.crCreatedAt === null)) return;
  if (!isActive(row)) return unlockSlot(deps.postgres.pool, id);
  // The copy may lag behind; only the API server's own word ends a session.
  if (await deps.gameSessionWriter.find(id) === undefined) await recordVanished(deps, id);
}

/** An object of ours without a row, as after a restored database: ended gracefully, then let go of. */
async function recordOrphan({ gameSessionWriter, logger }: RecorderDeps, gameSession: Stored<GameSession>): Promise<void> {
  if (!hasFinalizer(gameSession, finalizers.recorder)) return; // An admin's own session.
  if (isFinished(gameSession)) return gameSessionWriter.release(gameSession);
  if (gameSession.spec.desiredState === "Stopped") return;
  logger.warn({ gameSession: gameSession.metadata.name }, "A game session has no row in the database and is stopped.");
  await gameSessionWriter.requestStop(gameSession.metadata.name, "Deleted");
}

/** Every stored save counts, also that of a session still played, and one that comes after the end. */
async function recordSave({ postgres, logger }: RecorderDeps, row: RecordedSession, { status }: GameSession): Promise<void> {
  const save = status?.save;
  if (save === undefined || row.slotId === null) return;
  const hasMoved = await moveSlot(postgres.pool, row.slotId, row.id, save);
  if (hasMoved) logger.info({ gameSession: row.id, slot: row.slotId, generation: save.generation, sequence: save.sequence }, "A save was taken into its slot.");
}

async function recordResult(deps: RecorderDeps, row: RecordedSession, gameSession: Stored<GameSession>): Promise<void> {
  if (isActive(row)) await recordFinished(deps, row, gameSession);
  if (!hasFinalizer(gameSession, finalizers.recorder)) return;
  // While its last save is on its way the object must stay: it is what tells us of the save.
  if (isSavePending(gameSession, row.now)) return;
  const notice = saveNoticeOf(gameSession, false);
  if (notice !== undefined) await noteSave(deps.postgres.pool, row.id, notice);
  await unlockSlot(deps.postgres.pool, row.id);
  await deps.gameSessionWriter.release(gameSession);
}

async function recordProgress({ postgres, logger }: RecorderDeps, row: RecordedSession, gameSession: GameSession): Promise<void> {
  const { status } = gameSession;
  const publicStatus = publicStatusOf(gameSession);
  if (publicStatus === "running" && status?.readyAt !== undefined) {
    const isNew = await recordReady(postgres.pool, row.id, status.readyAt, status.nodeName);
    if (isNew) logger.info({ gameSession: row.id, node: status.nodeName }, "A game session runs.");
  } else if (publicStatus === "stopping") {
    await recordStopping(postgres.pool, row.id, stopReasonOf(gameSession), status?.readyAt);
  }
}

/** What the row wants has not reached the cluster: its stop was stored while the API server was away. */
async function repeatStop({ gameSessionWriter }: RecorderDeps, row: RecordedSession, gameSession: GameSession): Promise<void> {
  const isWanted = row.status !== "starting" && row.status !== "running";
  if (!isWanted || gameSession.spec.desiredState === "Stopped" || gameSession.metadata.deletionTimestamp !== undefined) return;
  // The operator ends it by itself already, with a reason of its own.
  if (gameSession.status?.stoppingAt !== undefined) return;
  await gameSessionWriter.requestStop(row.id, row.stopReason ?? "UserRequested");
}

function isActive({ status }: RecordedSession): boolean {
  return status === "starting" || status === "running" || status === "stopping";
}
