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
 * Ends a session whose object is gone: it was removed by force, or the cluster lost it. Its usage is unknown.
 * Its slot is held until the object store was searched for unreported saves.
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
  // A stop was requested or the game ran; only a launch can fail.
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
 * Ends a session that the cluster never had, releases its slot, removes a slot created for it, and uncounts
 * its launch. If the object appears later, the recorder stops it. Returns false and changes nothing if
 * another process has noted the object in the meantime: a process that was frozen may not learn in time that
 * its object, or one from another relay, was created.
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
