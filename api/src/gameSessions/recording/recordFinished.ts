import type { GameSession, SessionUsage } from "#contracts/crd/gameSession.ts";
import { limits, mebibyte } from "#contracts/limits.ts";
import { stopReasons, failureReasons } from "#contracts/crd/gameSessionReasons.ts";
import { publicStatusOf, conditionStatus } from "#contracts/crd/sessionState.ts";
import { memoryLimitOf, type StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { deleteUnusedSlot, updateSlotPlayed } from "./slotQueries.ts";
import {
  raiseGameMemory,
  updateResourceProfile,
  type ResourceUse,
  updateGameSessionEnded,
  type GameSessionEnd,
  type RecordedGameSession,
} from "./lifecycleQueries.ts";
import type { Deps } from "../../deps.ts";

/**
 * Stores a finished session's result, its slot's state and its share of the game's profile, in one
 * transaction and once only.
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

function endOf(gameSession: GameSession, isUserRequested: boolean): Omit<GameSessionEnd, "isSlotReleased"> {
  const usage = gameSession.status?.usage;
  const failure = gameSession.status?.failure;
  return {
    // A launch that the player cancelled has not failed, even if something broke meanwhile.
    status: publicStatusOf(gameSession) === "error" && !isUserRequested ? "error" : "stopped",
    stopReason: stopReasonOf(gameSession),
    failure,
    durationSeconds: usage?.durationSeconds ?? 0,
    cpuSeconds: usage?.cpuSeconds ?? 0,
    peakMemoryMb: (usage?.peakMemoryBytes ?? 0) / mebibyte,
  };
}

/**
 * Returns what the game used on average; undefined when it did not run long enough to tell. Its processor
 * time includes some before it was ready and some of its end, and the kubelet cuts the end of its play to a
 * whole second: divided by a moment of play, that would be more processors than a node has.
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
 * Returns what the session says of the memory that the game needs, however short it was. A game that was
 * killed at its limit needs more than that.
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

/** Returns why a session is stopping, by its object. */
export function stopReasonOf({ spec, status, metadata }: GameSession): StopReason {
  if (status?.stopReason !== undefined) return status.stopReason;
  if (spec.stopReason !== undefined) return spec.stopReason;
  if (metadata.deletionTimestamp !== undefined) return stopReasons.deleted;
  return status?.failure === undefined ? stopReasons.userRequested : stopReasons.failed;
}

/**
 * Returns whether a finished session may have a save that was not reported, because its agent has not said
 * what became of the last one. A session without any report may have one, too, unless it never got so far
 * that anybody could have played. `isSavePending` asks for the node's sake, and counts any session that had a
 * pod; this asks for the slot's, which a session that nobody played has not changed.
 */
export function isSaveUnreported(gameSession: GameSession): boolean {
  const saved = conditionStatus(gameSession, "SavePersisted") ?? "Unknown";
  return saved === "False" || (saved === "Unknown" && gameSession.status?.readyAt !== undefined);
}

/**
 * Whether such a save may still be reported, as far as the object says: a lost node may never return, and its
 * player must not wait for it.
 */
export function isSaveAwaited(gameSession: GameSession): boolean {
  return isSaveUnreported(gameSession) && gameSession.status?.failure?.reason !== failureReasons.nodeLost;
}
