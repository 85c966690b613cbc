import { recordedFailureReasons } from "#contracts/crd/reasons.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { findRecordedGameSession, updateGameSessionEnded, type GameSessionEnd, type RecordedGameSession } from "../gameSessionLifecycleQueries.ts";
import { deleteUnusedSlot, updateSlotUnlocked } from "../saveSlotQueries.ts";

/**
 * Ends a session whose object is not in the cluster: it was removed by force, or the cluster lost it. What it used is unknown; its saves
 * up to the last automatic one are in the slot.
 */
export async function recordVanished({ postgres }: { postgres: Postgres }, id: string): Promise<void> {
  await postgres.transaction(async (transaction) => {
    const row = await findRecordedGameSession(transaction, id);
    if (row === undefined) return;
    const isRecorded = await updateGameSessionEnded(transaction, id, endOf(row), { readyAt: undefined, endedAt: undefined }, undefined);
    if (isRecorded && row.readyAt === null) await deleteUnusedSlot(transaction, id);
    await updateSlotUnlocked(transaction, id);
  });
}

function endOf({ status, readyAt, now }: RecordedGameSession): GameSessionEnd {
  const durationSeconds = readyAt === null ? 0 : Math.max(0, (now.getTime() - readyAt.getTime()) / 1000);
  const unknown = { durationSeconds, cpuSeconds: 0, peakMemoryMb: 0, stopReason: "NodeLost" } as const;
  // A stop was requested anyway, or the game ran; only a launch can fail.
  if (status !== "starting") return { ...unknown, status: "stopped", failure: undefined };
  return { ...unknown, status: "error", failure: { reason: recordedFailureReasons.vanished, message: "The session was removed from the cluster." } };
}
