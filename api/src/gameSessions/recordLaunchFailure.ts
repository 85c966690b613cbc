import { recordedFailureReasons } from "#contracts/crd/reasons.ts";
import type { Postgres } from "../stores/postgres.ts";
import { recordEnd, removeUnusedSlot } from "./gameSessionRecord.ts";

const nothing = { durationSeconds: 0, cpuSeconds: 0, peakMemoryMb: 0 };

/**
 * Ends a session that the cluster never had, or that vanished from it before it was ready, and removes the slot made for
 * it. Should the object turn up after all, the recorder stops it, for its row has ended.
 */
export async function recordLaunchFailure({ postgres }: { postgres: Postgres }, id: string, message: string): Promise<void> {
  await postgres.transaction(async (transaction) => {
    const end = { ...nothing, status: "error", stopReason: "Failed", failure: { reason: recordedFailureReasons.launchFailed, message } } as const;
    const isRecorded = await recordEnd(transaction, id, end, { readyAt: undefined, endedAt: undefined }, undefined);
    if (isRecorded) await removeUnusedSlot(transaction, id);
  });
}
