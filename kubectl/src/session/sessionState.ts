import type { GameSession, GameSessionPhase } from "#contracts/crd/gameSession.ts";
import { publicStatusOf, conditionStatus } from "#contracts/crd/sessionState.ts";
import { failureReasons } from "#contracts/crd/gameSessionReasons.ts";
import { findCondition } from "#kube/api/conditions.ts";

/**
 * Returns the phase. A session counts as stopping as soon as a stop is requested; the operator writes that
 * phase only if the stop takes long.
 */
export function phaseOf(session: GameSession): GameSessionPhase {
  return publicStatusOf(session) === "stopping" ? "Stopping" : (session.status?.phase ?? "Pending");
}

/** Returns whether the session's last save was stored, but after the operator's deadline. */
export function isSaveLate(session: GameSession): boolean {
  return (
    session.status?.failure?.reason === failureReasons.saveNotStored &&
    conditionStatus(session, "SavePersisted") === "True"
  );
}

/**
 * Returns the failure that ended the session; undefined without one. The operator writes it once at the end,
 * and the node agent may report more later.
 */
export function failureText(session: GameSession): string | undefined {
  const { failure, conditions } = session.status ?? {};
  if (failure === undefined || !isSaveLate(session))
    return failure && `${failure.reason}: ${failure.message}`;
  return `${failure.reason}: The last save was not stored in time. Current state: ${findCondition(conditions, "SavePersisted")?.message ?? ""}`;
}
