import type { GameSession, StopReason } from "#contracts/crd/gameSession.ts";
import { stopReasons } from "#contracts/crd/reasons.ts";

/** Returns why a session is stopping, by its object. */
export function stopReasonOf({ spec, status, metadata }: GameSession): StopReason {
  if (status?.stopReason !== undefined) return status.stopReason;
  if (spec.stopReason !== undefined) return spec.stopReason;
  if (metadata.deletionTimestamp !== undefined) return stopReasons.deleted;
  return status?.failure === undefined ? stopReasons.userRequested : stopReasons.failed;
}
