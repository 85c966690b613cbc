import { recordedFailureReasons } from "#contracts/crd/reasons.ts";
import type { Postgres } from "../stores/postgres.ts";
import { updateGameSessionEnded } from "./gameSessionLifecycleQueries.ts";
import { deleteUnusedSlot } from "./saveSlotQueries.ts";

const noUse = { durationSeconds: 0, cpuSeconds: 0, peakMemoryMb: 0, isSlotReleased: true };

/**
 * Ends a session that the cluster never had, gives its slot back, and removes a slot made for it. If the object appears after all, the
 * recorder stops it, because its row has ended.
 */
export async function recordLaunchFailure({ postgres }: { postgres: Postgres }, id: string, message: string): Promise<void> {
  await postgres.transaction(async (transaction) => {
    const end = { ...noUse, status: "error", stopReason: "Failed", failure: { reason: recordedFailureReasons.launchFailed, message } } as const;
    const isRecorded = await updateGameSessionEnded(transaction, id, end, { readyAt: undefined, endedAt: undefined }, undefined);
    if (isRecorded) await deleteUnusedSlot(transaction, id);
  });
}
