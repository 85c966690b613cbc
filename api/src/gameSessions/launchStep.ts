import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession, GameSessionConditionType } from "#contracts/crd/gameSession.ts";
import { conditionStatus } from "#contracts/crd/sessionConditions.ts";
import type { LaunchStage } from "#contracts/http/gameSessions.ts";

/** Where a launch stands; progressPercent is of the download. */
export interface LaunchProgress {
  stage: LaunchStage;
  progressPercent?: number;
}

/** What is left of the launch, told by the first condition that does not hold; without an object nothing was done yet. */
export function launchProgressOf(
  gameSession: GameSession | undefined, nodeOf: (name: string) => GameNode | undefined,
): LaunchProgress {
  if (gameSession === undefined || !holds(gameSession, "Scheduled")) return { stage: "scheduling" };
  if (!holds(gameSession, "ContentReady")) {
    const percent = downloadPercent(gameSession, nodeOf);
    return { stage: "downloading", ...(percent === undefined ? {} : { progressPercent: percent }) };
  }
  if (!holds(gameSession, "SaveRestored")) return { stage: "restoring" };
  if (!holds(gameSession, "PodReady")) return { stage: "booting" };
  return { stage: "connecting" };
}

function holds(gameSession: GameSession, condition: GameSessionConditionType): boolean {
  return conditionStatus(gameSession, condition) === "True";
}

function downloadPercent({ spec, status }: GameSession, nodeOf: (name: string) => GameNode | undefined): number | undefined {
  const node = status?.nodeName === undefined ? undefined : nodeOf(status.nodeName);
  return node?.status?.cache?.entries.find(({ digest }) => digest === spec.contentDigest)?.progressPercent;
}
