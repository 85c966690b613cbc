import { recordedFailureReasons } from "#contracts/crd/reasons.ts";
import type { Postgres } from "../stores/postgres.ts";
import { lockWhetherCreated, updateGameSessionEnded } from "./gameSessionLifecycleQueries.ts";
import { deleteUnusedSlot } from "./saveSlotQueries.ts";

const noUse = { durationSeconds: 0, cpuSeconds: 0, peakMemoryMb: 0, isSlotReleased: true };

/**
 * Ends a session that the cluster never had, gives its slot back, and removes a slot made for it. If the object appears after all, the
 * recorder stops it, because its row has ended. Returns false, and changes nothing, when somebody has noted the object meanwhile: who creates an
 * object and does not hear so in time, as a process that was frozen does, may find that the relay of another one has.
 */
export async function recordLaunchFailure({ postgres }: { postgres: Postgres }, id: string, message: string): Promise<boolean> {
  return postgres.transaction(async (transaction) => {
    if (await lockWhetherCreated(transaction, id)) return false;
    const end = { ...noUse, status: "error", stopReason: "Failed", failure: { reason: recordedFailureReasons.launchFailed, message } } as const;
    const isRecorded = await updateGameSessionEnded(transaction, id, end, { readyAt: undefined, endedAt: undefined }, undefined);
    if (isRecorded) await deleteUnusedSlot(transaction, id);
    return true;
  });
}
