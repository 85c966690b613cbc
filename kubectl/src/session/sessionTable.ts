import type { GameSession } from "#contracts/crd/gameSession.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { ageText } from "../output/quantities.ts";
import { table } from "../output/table.ts";
import { failureText, phaseOf } from "./sessionState.ts";

/** Returns sessions as a table, those that started last at the end. */
export function sessionTable(sessions: readonly GameSession[], now: Date): string {
  const rows = sessions
    .toSorted((a, b) =>
      (a.metadata.creationTimestamp ?? "").localeCompare(b.metadata.creationTimestamp ?? ""),
    )
    .map((session) => {
      const { metadata, spec, status } = session;
      return [
        metadata.name,
        phaseOf(session),
        spec.gameCacheRef.name,
        status?.nodeName,
        status?.ports?.media,
        ageText(metadata.creationTimestamp, now),
        reasonOf(session),
      ];
    });
  return rows.length === 0
    ? "There is no session."
    : table(["NAME", "PHASE", "GAME", "NODE", "PORT", "AGE", "WHY"], rows);
}

/** What a session waits for, or why it ended; undefined of one that is played. */
function reasonOf(session: GameSession): string | undefined {
  const { status, spec } = session;
  const failure = failureText(session);
  if (failure !== undefined) return failure;
  if (isFinished(session) || status?.stoppingAt !== undefined) return status?.stopReason;
  if (phaseOf(session) === "Stopping") return spec.stopReason ?? stopReasons.deleted;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready === undefined || ready.status === "True"
    ? undefined
    : ready.message === ""
      ? ready.reason
      : ready.message;
}
