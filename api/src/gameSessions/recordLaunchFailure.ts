import { recordedFailureReasons, stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { Postgres } from "../stores/postgres.ts";
import { lockWhetherCreated, updateGameSessionEnded } from "./gameSessionLifecycleQueries.ts";
import { uncountLaunch } from "./launchQueries.ts";
import { deleteUnusedSlot } from "./saveSlotQueries.ts";

const noUse = { durationSeconds: 0, cpuSeconds: 0, peakMemoryMb: 0, isSlotReleased: true };

/**
 * Ends a session that the cluster never had, gives its slot back, removes a slot made for it, and counts its
 * launch no longer. If the object appears after all, the recorder stops it, because its row has ended.
 * Returns false, and changes nothing, when another process has noted the object meanwhile: a process that was
 * frozen may not hear in time that an object was created, while another one's relay has created it.
 */
export async function recordLaunchFailure(
  { postgres }: { postgres: Postgres },
  id: string,
  message: string,
): Promise<boolean> {
  return postgres.transaction(async (transaction) => {
    if (await lockWhetherCreated(transaction, id)) return false;
    const end = {
      ...noUse,
      status: "error",
      stopReason: stopReasons.failed,
      failure: { reason: recordedFailureReasons.launchFailed, message },
    } as const;
    const isRecorded = await updateGameSessionEnded(
      transaction,
      id,
      end,
      { readyAt: undefined, endedAt: undefined },
      undefined,
    );
    if (!isRecorded) return true;
    await deleteUnusedSlot(transaction, id);
    await uncountLaunch(transaction, id);
    return true;
  });
}
