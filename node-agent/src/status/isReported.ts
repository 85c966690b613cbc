import { isDeepStrictEqual } from "node:util";
import { gameNodeConditions, type GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { findCondition } from "#kube/api/conditions.ts";

/** What an agent reports of its node. */
export type NodeReport = {
  [Part in "conditions" | "cache" | "heartbeat"]: NonNullable<GameNodeStatus[Part]>;
};

/**
 * Free space changes with every save: it is reported anew when it has changed by this share of the cache's
 * size.
 */
const freeShare = 0.01;

/**
 * Returns whether the status says what the report does; the time of the report, and small changes of the free
 * space, make no difference.
 */
export function isReported(
  status: GameNodeStatus | undefined,
  { conditions, cache, heartbeat }: NodeReport,
): boolean {
  const known = status?.cache;
  if (known === undefined || status?.heartbeat?.agentVersion !== heartbeat.agentVersion) return false;
  return (
    known.capacityBytes === cache.capacityBytes &&
    Math.abs(known.freeBytes - cache.freeBytes) <= cache.capacityBytes * freeShare &&
    gameNodeConditions.nodeAgent.every((type) =>
      isDeepStrictEqual(essenceOf(status.conditions, type), essenceOf(conditions, type)),
    ) &&
    isDeepStrictEqual(byDigest(known.entries), byDigest(cache.entries))
  );
}

function essenceOf(
  conditions: NodeReport["conditions"] | undefined,
  type: (typeof gameNodeConditions.nodeAgent)[number],
): unknown {
  const condition = findCondition(conditions, type);
  return condition && [condition.status, condition.reason, condition.message];
}

function byDigest(entries: NodeReport["cache"]["entries"]): unknown {
  return new Map(entries.map((entry) => [entry.digest, entry]));
}
