import { stopReasons, recordedFailureReasons } from "#contracts/crd/gameSessionReasons.ts";
import {
  findRecordedGameSession,
  updateGameSessionEnded,
  type GameSessionEnd,
  type RecordedGameSession,
  lockWhetherCreated,
  uncountLaunch,
} from "./lifecycleQueries.ts";
import { updateSlotPlayed, deleteUnusedSlot } from "./slotQueries.ts";
import type { Deps } from "../../deps.ts";

const noUse = { durationSeconds: 0, cpuSeconds: 0, peakMemoryMb: 0, isSlotReleased: true };

/**
 * Ends a session whose object is not in the cluster: it was removed by force, or the cluster lost it. What it
 * used is unknown. Its slot waits until the object store was asked for saves that nobody reported.
 */
export async function recordVanished({ postgres }: Pick<Deps, "postgres">, id: string): Promise<void> {
  await postgres.transaction(async (transaction) => {
    const row = await findRecordedGameSession(transaction, id);
    if (row === undefined) return;
    const isRecorded = await updateGameSessionEnded(
      transaction,
      id,
      endOf(row),
      { readyAt: undefined, endedAt: undefined },
      undefined,
    );
    if (isRecorded && row.slotId !== null && row.slotReleasedAt === null)
      await updateSlotPlayed(transaction, row.slotId);
  });
}

function endOf({ status, readyAt, now }: RecordedGameSession): GameSessionEnd {
  const durationSeconds = readyAt === null ? 0 : Math.max(0, (now.getTime() - readyAt.getTime()) / 1000);
  const unknown = {
    durationSeconds,
    cpuSeconds: 0,
    peakMemoryMb: 0,
    stopReason: stopReasons.nodeLost,
    isSlotReleased: false,
  } as const;
  // A stop was requested anyway, or the game ran; only a launch can fail.
  if (status !== "starting") return { ...unknown, status: "stopped", failure: undefined };
  return {
    ...unknown,
    status: "error",
    failure: {
      reason: recordedFailureReasons.vanished,
      message: "The session was removed from the cluster.",
    },
  };
}

/**
 * Ends a session that the cluster never had, gives its slot back, removes a slot made for it, and counts its
 * launch no longer. If the object appears after all, the recorder stops it, because its row has ended.
 * Returns false, and changes nothing, when another process has noted the object meanwhile: a process that was
 * frozen may not hear in time that an object was created, while another one's relay has created it.
 */
export async function recordLaunchFailure(
  { postgres }: Pick<Deps, "postgres">,
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
