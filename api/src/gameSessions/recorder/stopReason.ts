import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";

/** Returns why a session is stopping, by its object. */
export function stopReasonOf({ spec, status, metadata }: GameSession): StopReason {
  if (status?.stopReason !== undefined) return status.stopReason;
  if (spec.stopReason !== undefined) return spec.stopReason;
  if (metadata.deletionTimestamp !== undefined) return stopReasons.deleted;
  return status?.failure === undefined ? stopReasons.userRequested : stopReasons.failed;
}
