import { failureReasons } from "#contracts/crd/reasons.ts";
import type { GameSession, StopReason } from "#contracts/crd/gameSession.ts";
import { conditionStatus } from "#contracts/crd/sessionConditions.ts";
import { savePatienceMs } from "../../saves/savePatience.ts";

/** Returns why a session is stopping, by its object. */
export function stopReasonOf({ spec, status, metadata }: GameSession): StopReason {
  if (status?.stopReason !== undefined) return status.stopReason;
  if (spec.stopReason !== undefined) return spec.stopReason;
  if (metadata.deletionTimestamp !== undefined) return "Deleted";
  return status?.failure === undefined ? "UserRequested" : "Failed";
}

/** Whether the finished session's last save exists only on its node, and may still come from there. */
export function isSavePending(gameSession: GameSession, now: Date): boolean {
  const { failure, finishedAt } = gameSession.status ?? {};
  // A lost node may never return, and its player must not wait for it.
  if (conditionStatus(gameSession, "SavePersisted") !== "False" || failure?.reason === failureReasons.nodeLost || finishedAt === undefined) return false;
  return now.getTime() - new Date(finishedAt).getTime() < savePatienceMs;
}
