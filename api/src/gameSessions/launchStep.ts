import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession, GameSessionConditionType } from "#contracts/crd/gameSession.ts";
import { conditionStatus } from "#contracts/crd/sessionConditions.ts";
import type { LaunchStage as LaunchStep } from "#contracts/http/gameSessions.ts";

/** The step that a launch is at; `progressPercent` is of the download. */
export interface LaunchProgress {
  step: LaunchStep;
  progressPercent?: number;
}

/** Returns the launch's step: the first one whose condition is not true yet. Without an object the launch is still scheduled. */
export function launchProgressOf(
  gameSession: GameSession | undefined, nodeOf: (name: string) => GameNode | undefined,
): LaunchProgress {
  if (gameSession === undefined || !isTrue(gameSession, "Scheduled")) return { step: "scheduling" };
  if (!isTrue(gameSession, "ContentReady")) {
    const percent = downloadPercent(gameSession, nodeOf);
    return { step: "downloading", ...(percent === undefined ? {} : { progressPercent: percent }) };
  }
  if (!isTrue(gameSession, "SaveRestored")) return { step: "restoring" };
  if (!isTrue(gameSession, "PodReady")) return { step: "booting" };
  return { step: "connecting" };
}

function isTrue(gameSession: GameSession, condition: GameSessionConditionType): boolean {
  return conditionStatus(gameSession, condition) === "True";
}

function downloadPercent({ spec, status }: GameSession, nodeOf: (name: string) => GameNode | undefined): number | undefined {
  const node = status?.nodeName === undefined ? undefined : nodeOf(status.nodeName);
  return node?.status?.cache?.entries.find(({ digest }) => digest === spec.contentDigest)?.progressPercent;
}
