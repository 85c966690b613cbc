import { recordedFailureReasons, stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { Postgres } from "../stores/postgres.ts";
import {
  findRecordedGameSession,
  updateGameSessionEnded,
  type GameSessionEnd,
  type RecordedGameSession,
} from "./gameSessionLifecycleQueries.ts";
import { updateSlotPlayed } from "./saveSlotQueries.ts";

/**
 * Ends a session whose object is not in the cluster: it was removed by force, or the cluster lost it. What it
 * used is unknown. Its slot waits until the object store was asked for saves that nobody reported.
 */
export async function recordVanished({ postgres }: { postgres: Postgres }, id: string): Promise<void> {
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
