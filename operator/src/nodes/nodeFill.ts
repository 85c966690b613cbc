import type { Condition } from "#contracts/crd/kind.ts";
import type { DesiredContent, GameNode } from "#contracts/crd/gameNode.ts";
import { filledReasons } from "#contracts/crd/gameNodeReasons.ts";
import { findCondition, type ConditionUpdate } from "#kube/api/conditions.ts";
import type { Stored } from "#kube/api/object.ts";

/** Inputs to the decision whether a new node has its pinned games. */
export interface FillWorld {
  gameNode: Stored<GameNode> | undefined;
  /** Current versions of the pinned games that the policies request on the node. */
  pinned: readonly DesiredContent[];
  fillDeadlineMs: number;
  now: Date;
}

/**
 * Returns condition Filled. Once true it stays true: games pinned later are downloaded while the node takes
 * sessions. The deadline of a new node counts from its agent's first report. For a node of an earlier
 * release, which never had the condition, it counts from the node's creation.
 */
export function filledOf({ gameNode, pinned, fillDeadlineMs, now }: FillWorld): ConditionUpdate {
  const known = findCondition(gameNode?.status?.conditions, "Filled");
  if (known?.status === "True")
    return { type: "Filled", status: "True", reason: known.reason, message: known.message };
  const progress = progressOf(gameNode, pinned);
  if (progress.held === pinned.length) {
    return {
      type: "Filled",
      status: "True",
      reason: filledReasons.pinnedGamesHeld,
      message: pinned.length === 0 ? "No game is pinned to this node." : "The pinned games are on the node.",
    };
  }
  if (gameNode?.status?.heartbeat === undefined)
    return {
      type: "Filled",
      status: "Unknown",
      reason: filledReasons.notReported,
      message: "The node agent has not reported yet.",
    };
  const told = `${progress.held} of ${pinned.length} pinned games are on the node, ${progress.percent} % of ${(progress.bytes / 1e9).toFixed(1)} GB`;
  if (fillEndsInMs(gameNode, fillDeadlineMs, now) > 0)
    return {
      type: "Filled",
      status: "False",
      reason: filledReasons.filling,
      message: `${told}. Until then, sessions are placed on other nodes if they have room.`,
    };
  return {
    type: "Filled",
    status: "True",
    reason: filledReasons.notInTime,
    message: `${told} when the time limit expired.`,
  };
}

/** Returns the milliseconds until the node's fill deadline. 0 if there is no time left. */
export function fillEndsInMs(
  gameNode: Stored<GameNode> | undefined,
  fillDeadlineMs: number,
  now: Date,
): number {
  const known = findCondition(gameNode?.status?.conditions, "Filled");
  if (known?.status === "True") return 0;
  const since =
    known === undefined
      ? gameNode?.metadata.creationTimestamp
      : known.status === "False"
        ? known.lastTransitionTime
        : undefined;
  return since === undefined
    ? fillDeadlineMs
    : Math.max(0, Date.parse(since) + fillDeadlineMs - now.getTime());
}

/** Returns whether a new node does not have its pinned games yet. */
export function isFilling(conditions: readonly Condition[] | undefined): boolean {
  return findCondition(conditions, "Filled")?.status === "False";
}

function progressOf(
  gameNode: GameNode | undefined,
  pinned: readonly DesiredContent[],
): { held: number; bytes: number; percent: number } {
  const entries = new Map(gameNode?.status?.cache?.entries.map((entry) => [entry.digest, entry]));
  let [held, bytes, there] = [0, 0, 0];
  for (const { digest, source } of pinned) {
    const entry = entries.get(digest);
    const isHeld = entry?.state === "Ready";
    held += isHeld ? 1 : 0;
    bytes += source.sizeBytes;
    there += isHeld ? source.sizeBytes : (source.sizeBytes * (entry?.progressPercent ?? 0)) / 100;
  }
  return { held, bytes, percent: bytes === 0 ? 0 : Math.floor((there / bytes) * 100) };
}
