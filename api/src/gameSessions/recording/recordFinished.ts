import type { GameSession, SessionUsage } from "#contracts/crd/gameSession.ts";
import { limits, mebibyte } from "#contracts/limits.ts";
import { stopReasons, failureReasons, gameFaults } from "#contracts/crd/gameSessionReasons.ts";
import { recordWebhookEvent } from "../../webhooks/eventQueries.ts";
import { publicStatusOf, conditionStatus } from "#contracts/crd/sessionState.ts";
import { memoryLimitOf, type StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { isSaveSuspect } from "./saveNotice.ts";
import { deleteUnusedSlot, updateSlotPlayed } from "./slotQueries.ts";
import {
  raiseGameMemory,
  findEndedRun,
  updateResourceProfile,
  type ResourceUse,
  updateGameSessionEnded,
  type GameSessionEnd,
  type RecordedGameSession,
} from "./lifecycleQueries.ts";
import type { Deps } from "../../deps.ts";
import type { Queryable } from "../../stores/queryable.ts";

/**
 * Stores a finished session's result, its slot's state and its usage in the game's profile, in one
 * transaction and exactly once.
 */
export async function recordFinished(
  { postgres, logger }: Pick<Deps, "postgres" | "logger">,
  { id, slotId, gameId, stopReason }: RecordedGameSession,
  gameSession: GameSession,
): Promise<void> {
  const { status } = gameSession;
  const isReleased = !isSaveUnreported(gameSession);
  const end = { ...endOf(gameSession, stopReason === stopReasons.userRequested), isSlotReleased: isReleased };
  const isRecorded = await postgres.transaction(async (transaction) => {
    const times = { readyAt: status?.readyAt, endedAt: status?.finishedAt };
    if (!(await updateGameSessionEnded(transaction, id, end, times, status?.nodeName))) return false;
    if (isReleased && status?.readyAt === undefined) await deleteUnusedSlot(transaction, id);
    else if (slotId !== null) await updateSlotPlayed(transaction, slotId);
    const usage = averageUse(status?.usage);
    if (usage !== undefined)
      await updateResourceProfile(transaction, gameId, usage, limits.resources.newestWeight);
    await raiseGameMemory(transaction, gameId, memoryNeedOf(gameSession));
    await recordCrash(transaction, gameId, id, gameSession);
    return true;
  });
  if (isRecorded) {
    logger.info(
      {
        gameSession: id,
        status: end.status,
        stopReason: stopReason ?? end.stopReason,
        failure: end.failure?.reason,
      },
      "A game session has ended.",
    );
  }
}

/** Records the event of a session that ended because its game failed. */
async function recordCrash(
  transaction: Queryable,
  gameId: string,
  id: string,
  { status }: GameSession,
): Promise<void> {
  const { failure, exit } = status ?? {};
  const reason = gameFaults.find((fault) => fault === failure?.reason);
  const row = reason && (await findEndedRun(transaction, id));
  if (failure === undefined || reason === undefined || row === undefined) return;
  const { gameVersionId, startedAt, readyAt, endedAt, playSeconds } = row;
  const run = {
    id,
    startedAt: startedAt.toISOString(),
    readyAt: readyAt?.toISOString() ?? null,
    endedAt: endedAt.toISOString(),
    playSeconds: Math.round(playSeconds * 10) / 10,
    failure: { reason, message: failure.message },
    exit: exit === undefined ? null : { code: exit.code, signal: exit.signal ?? null },
  };
  await recordWebhookEvent(transaction, gameId, { type: "run.crashed", data: { gameVersionId, run } });
}

function endOf(gameSession: GameSession, isUserRequested: boolean): Omit<GameSessionEnd, "isSlotReleased"> {
  const { usage, failure, exit, gameEnd, streamSummary } = gameSession.status ?? {};
  return {
    // A launch that the player cancelled has not failed, even if something broke at the same time.
    status: publicStatusOf(gameSession) === "error" && !isUserRequested ? "error" : "stopped",
    stopReason: stopReasonOf(gameSession),
    failure,
    durationSeconds: usage?.durationSeconds ?? 0,
    cpuSeconds: usage?.cpuSeconds ?? 0,
    peakMemoryMb: (usage?.peakMemoryBytes ?? 0) / mebibyte,
    isSaveSuspect: isSaveSuspect(gameSession),
    fullFolders: gameEnd?.fullFolders ?? [],
    exit,
    endedBy: gameEnd?.endedBy,
    streamSummary,
  };
}

/**
 * Returns the session's average usage; undefined if it ran too briefly. Processor time includes some before
 * it was ready and during its end, and the kubelet truncates its end to whole seconds: divided by a very
 * short play time that would exceed the node's processors.
 */
function averageUse(usage: SessionUsage | undefined): ResourceUse | undefined {
  if (
    usage === undefined ||
    usage.durationSeconds < limits.resources.leastPlayedSeconds ||
    usage.peakMemoryBytes === 0
  )
    return undefined;
  return {
    cpuMillicores: (usage.cpuSeconds / usage.durationSeconds) * 1000,
    peakMemoryMb: usage.peakMemoryBytes / mebibyte,
    durationSeconds: usage.durationSeconds,
  };
}

/**
 * Returns the memory need that the session shows, however short it was. A game killed at its limit needs more
 * than the limit.
 */
function memoryNeedOf({ spec, status }: GameSession): {
  highestMb: number | undefined;
  floorMb: number | undefined;
} {
  const peakBytes = status?.usage?.peakMemoryBytes ?? 0;
  const wasOutOfMemory = status?.failure?.reason === failureReasons.outOfMemory;
  return {
    highestMb: peakBytes === 0 ? undefined : peakBytes / mebibyte,
    floorMb: wasOutOfMemory
      ? Math.ceil((memoryLimitOf(spec.resources) / mebibyte) * limits.resources.outOfMemoryFactor)
      : undefined,
  };
}

/** Returns why the session is stopping, from its object. */
export function stopReasonOf({ spec, status, metadata }: GameSession): StopReason {
  if (status?.stopReason !== undefined) return status.stopReason;
  if (spec.stopReason !== undefined) return spec.stopReason;
  if (metadata.deletionTimestamp !== undefined) return stopReasons.deleted;
  return status?.failure === undefined ? stopReasons.userRequested : stopReasons.failed;
}

/**
 * Returns whether a finished session may have an unreported save, because its agent has not reported the last
 * one. Without any report a session counts only if it was ever playable. In contrast, `isSavePending` is
 * about the node and counts every session that had a pod; this is about the slot, which an unplayed session
 * has not changed.
 */
export function isSaveUnreported(gameSession: GameSession): boolean {
  const saved = conditionStatus(gameSession, "SavePersisted") ?? "Unknown";
  return saved === "False" || (saved === "Unknown" && gameSession.status?.readyAt !== undefined);
}

/**
 * Returns whether an unreported save may still be reported according to the object. A lost node may never
 * return, and its player must not wait for it.
 */
export function isSaveAwaited(gameSession: GameSession): boolean {
  return isSaveUnreported(gameSession) && gameSession.status?.failure?.reason !== failureReasons.nodeLost;
}
