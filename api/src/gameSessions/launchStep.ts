import type { CacheEntry, GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession, GameSessionConditionType } from "#contracts/crd/gameSession.ts";
import { hasContent } from "#contracts/crd/launchStep.ts";
import { conditionStatus } from "#contracts/crd/sessionState.ts";
import type { LaunchStage as LaunchStep } from "#contracts/http/gameSessions.ts";

/** The step that a launch is at; `progressPercent` is of the download. */
export interface LaunchProgress {
  step: LaunchStep;
  progressPercent?: number;
}

/**
 * Returns the launch's step: the first one that it has not done with. Without an object the launch is still
 * scheduled.
 */
export function launchProgressOf(
  gameSession: GameSession | undefined,
  nodeOf: (name: string) => GameNode | undefined,
): LaunchProgress {
  if (gameSession === undefined || !isTrue(gameSession, "Scheduled")) return { step: "scheduling" };
  const { state, progressPercent } = entryOf(gameSession, nodeOf) ?? {};
  if (!hasContent(gameSession, state === "Ready"))
    return { step: "downloading", ...(progressPercent === undefined ? {} : { progressPercent }) };
  if (!isTrue(gameSession, "SaveRestored")) return { step: "restoring" };
  if (!isTrue(gameSession, "PodReady")) return { step: "booting" };
  return { step: "connecting" };
}

function isTrue(gameSession: GameSession, condition: GameSessionConditionType): boolean {
  return conditionStatus(gameSession, condition) === "True";
}

/** Returns what the session's node lists of the session's version. */
function entryOf(
  { spec, status }: GameSession,
  nodeOf: (name: string) => GameNode | undefined,
): CacheEntry | undefined {
  const node = status?.nodeName === undefined ? undefined : nodeOf(status.nodeName);
  return node?.status?.cache?.entries.find(({ digest }) => digest === spec.contentDigest);
}
