import type { GameSession, GameSessionPhase } from "#contracts/crd/gameSession.ts";
import { publicStatusOf, conditionStatus } from "#contracts/crd/sessionState.ts";
import { failureReasons } from "#contracts/crd/gameSessionReasons.ts";
import { findCondition } from "#kube/api/conditions.ts";

/**
 * Returns the phase. A session is stopping as soon as somebody has asked for it, which the operator writes
 * down only when it takes long.
 */
export function phaseOf(session: GameSession): GameSessionPhase {
  return publicStatusOf(session) === "stopping" ? "Stopping" : (session.status?.phase ?? "Pending");
}

/** Returns whether the session's last save did not come in time, and has come since. */
export function isSaveLate(session: GameSession): boolean {
  return (
    session.status?.failure?.reason === failureReasons.saveNotStored &&
    conditionStatus(session, "SavePersisted") === "True"
  );
}

/**
 * Returns by what fault the session ended; undefined of one without. The operator says it once, at the end:
 * the node agent may have said more since.
 */
export function failureText(session: GameSession): string | undefined {
  const { failure, conditions } = session.status ?? {};
  if (failure === undefined || !isSaveLate(session))
    return failure && `${failure.reason}: ${failure.message}`;
  return `${failure.reason}: The last save was not stored in time. By now: ${findCondition(conditions, "SavePersisted")?.message ?? ""}`;
}
