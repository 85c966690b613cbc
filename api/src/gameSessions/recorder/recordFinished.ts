import type { GameSession, SessionUsage } from "#contracts/crd/gameSession.ts";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";
import { limits } from "#contracts/limits.ts";
import { averageIn, markSlotPlayed, recordEnd, removeUnusedSlot, type GameSessionEnd, type RecordedSession } from "../gameSessionRecord.ts";
import { isSavePending, stopReasonOf } from "./ending.ts";
import type { RecorderDeps } from "./recorderDeps.ts";

const mebibyte = 2 ** 20;

/** Stores a finished session's result, its slot's fate and its share of the game's profile: all at once, and once only. */
export async function recordFinished(
  { postgres, logger }: RecorderDeps, { id, slotId, gameId, stopReason, now }: RecordedSession, gameSession: GameSession,
): Promise<void> {
  const { status } = gameSession;
  const end = endOf(gameSession, stopReason === "UserRequested");
  const isRecorded = await postgres.transaction(async (transaction) => {
    const times = { readyAt: status?.readyAt, endedAt: status?.finishedAt };
    if (!await recordEnd(transaction, id, end, times, status?.nodeName)) return false;
    if (status?.readyAt === undefined) await removeUnusedSlot(transaction, id);
    else if (slotId !== null) await markSlotPlayed(transaction, slotId, id, isSavePending(gameSession, now));
    const usage = averageUse(status?.usage);
    if (usage !== undefined) await averageIn(transaction, gameId, usage, limits.resources.newestWeight);
    return true;
  });
  if (isRecorded) {
    logger.info({ gameSession: id, status: end.status, stopReason: stopReason ?? end.stopReason, failure: end.failure?.reason }, "A game session has ended.");
  }
}

function endOf(gameSession: GameSession, isUsersWish: boolean): GameSessionEnd {
  const usage = gameSession.status?.usage;
  const failure = gameSession.status?.failure;
  return {
    // A launch that the player called off has not failed, whatever broke on the way.
    status: publicStatusOf(gameSession) === "error" && !isUsersWish ? "error" : "stopped",
    stopReason: stopReasonOf(gameSession),
    failure,
    durationSeconds: usage?.durationSeconds ?? 0,
    cpuSeconds: usage?.cpuSeconds ?? 0,
    peakMemoryMb: (usage?.peakMemoryBytes ?? 0) / mebibyte,
  };
}

/** What the game used on average; undefined when it did not run long enough to say. */
function averageUse(usage: SessionUsage | undefined): Parameters<typeof averageIn>[2] | undefined {
  if (usage === undefined || usage.durationSeconds <= 0 || usage.peakMemoryBytes === 0) return undefined;
  return {
    cpuMillicores: (usage.cpuSeconds / usage.durationSeconds) * 1000,
    peakMemoryMb: usage.peakMemoryBytes / mebibyte,
    durationSeconds: usage.durationSeconds,
  };
}
