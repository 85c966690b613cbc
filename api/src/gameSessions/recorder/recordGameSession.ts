import type { GameSession, StoredSave } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { hasEnded, isOngoing, publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { isSaveKeyOf } from "#contracts/objectKeys.ts";
import { hasFinalizer } from "#kube/controllers/finalizers.ts";
import type { Stored } from "#kube/api/object.ts";
import { saveNoticeOf } from "../saveNotice.ts";
import { releaseSlot, updateSlotSave } from "../saveSlotQueries.ts";
import {
  findRecordedGameSession,
  updateGameSessionCreated,
  updateGameSessionRunning,
  updateGameSessionStopping,
  updateSaveNotice,
  type RecordedGameSession,
} from "../gameSessionLifecycleQueries.ts";
import { stopReasonOf } from "./stopReason.ts";
import { isSaveUnreported } from "./unreportedSave.ts";
import type { RecorderDeps } from "./recorderDeps.ts";
import { recordFinished } from "./recordFinished.ts";
import { recordLateSave } from "./recordLateSave.ts";
import { recordRequestedSave } from "./recordRequestedSave.ts";
import { recordUnreadableSave } from "./recordUnreadableSave.ts";
import { recordVanished } from "../recordVanished.ts";

/**
 * Reconciles one session: updates the row to the object's state, and the object to the row's wish. It reads
 * both anew and writes only by guarded statements, so it may run twice, late, or in two processes at once.
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
  }
  if (row.recordedAt === null) await recordUnreadableSave(deps, row.id, gameSession);
  if (isFinished(gameSession)) return recordResult(deps, row, gameSession);
  await recordProgress(deps, row, gameSession);
  await repeatStop(deps, (await findRecordedGameSession(deps.postgres.pool, id)) ?? row, gameSession);
}

/**
 * A row without an object: the relay creates one that never existed, any other is lost. What it may have
 * stored is looked for with its slot's release.
 */
async function recordAbsent(
  deps: RecorderDeps,
  id: string,
  row: RecordedGameSession | undefined,
): Promise<void> {
  if (row === undefined || (row.status === "starting" && row.crCreatedAt === null)) return;
  if (row.recordedAt !== null) return;
  // The cache may lag behind: only the API server itself can say that the object is gone.
  if ((await deps.gameSessionWriter.find(id)) === undefined) await recordVanished(deps, id);
}

/** An object of ours without a row, as after a restored database: it is stopped gracefully, then released. */
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

/**
 * Returns the save that the node's agent reports; undefined without one. The report is believed only for a
 * key of the session's slot, and for a request that the session's spec has. So an agent that was taken over
 * can neither hand its player another player's save, nor make the sweeper remove that, nor crowd out older
 * versions by requests that no player made.
 */
function credibleSave(
  { logger, metrics }: RecorderDeps,
  row: RecordedGameSession,
  { spec, status }: GameSession,
): StoredSave | undefined {
  if (status?.save === undefined || row.slotId === null) return undefined;
  const { requestedAt, ...save } = status.save;
  if (!isSaveKeyOf(row.slotId, save.objectKey)) {
    metrics.saveRefused();
    logger.warn(
      { gameSession: row.id, slot: row.slotId, objectKey: save.objectKey, node: status.nodeName },
      "The recorder refuses a save whose key is not one of its session's slot.",
    );
    return undefined;
  }
  const isRequested =
    requestedAt !== undefined &&
    spec.saveRequestedAt !== undefined &&
    Date.parse(requestedAt) <= Date.parse(spec.saveRequestedAt);
  return isRequested ? { ...save, requestedAt } : save;
}

/**
 * Every stored save counts, also one of a session that is still played, and one that comes after the end or
 * when the slot is another's.
 */
async function recordSave(deps: RecorderDeps, row: RecordedGameSession, save: StoredSave): Promise<void> {
  if (row.slotId === null) return;
  const { postgres, logger } = deps;
  const move =
    row.slotReleasedAt === null ? await updateSlotSave(postgres.pool, row.slotId, row.id, save) : "not_owner";
  if (move === "moved")
    logger.info(
      { gameSession: row.id, slot: row.slotId, sequence: save.sequence },
      "The recorder stored a save in its slot.",
    );
  if (move === "not_owner") await recordLateSave(deps, row.slotId, row.id, save);
}

async function recordResult(
  deps: RecorderDeps,
  row: RecordedGameSession,
  gameSession: Stored<GameSession>,
): Promise<void> {
  if (row.recordedAt === null) await recordFinished(deps, row, gameSession);
  if (!hasFinalizer(gameSession, finalizers.recorder)) return;
  // While its last save is on its way the object must stay, as the save is reported there. releaseSlots says
  // when it will not come any more.
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

/** Requests the stop again that was stored while the API server was unavailable. */
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
  // The operator stops it already, with a reason of its own.
  if (gameSession.status?.stoppingAt !== undefined) return;
  await gameSessionWriter.requestStop(row.id, row.stopReason ?? stopReasons.userRequested);
}
