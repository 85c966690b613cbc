import { isDeepStrictEqual } from "node:util";
import type { Condition } from "#contracts/crd/condition.ts";
import { gameNodeConditions, type DesiredContent, type GameNode, type GameNodeStatus } from "#contracts/crd/gameNode.ts";
import { nodeReadyReasons } from "#contracts/crd/reasons.ts";
import type { Node } from "#kube/builtin.ts";
import { findCondition, setCondition } from "#kube/conditions.ts";
import { healthOf } from "../../nodes/nodeHealth.ts";
import { addressesOf } from "../../nodes/addresses.ts";
import { hasLabels, slotsOf, unschedulableBecause, type SlotRules } from "../../nodes/slots.ts";

/** Everything that is observed about one game node in a pass. */
export interface NodeWorld {
  node: Node | undefined;
  gameNode: GameNode | undefined;
  hasHeartbeat: boolean;
  /** Sessions that take a slot. */
  used: number;
  rules: SlotRules;
  now: Date;
}

/** The part of a GameNode's status that the operator writes. */
export type OperatorNodeStatus = Pick<GameNodeStatus, "observedGeneration" | "conditions" | "capacity" | "addresses">;

/** What becomes of a GameNode. `keep`: its node is a game node. `drain`: it is none any more, but has sessions left. `remove`: neither. */
export type NodeAction = "keep" | "drain" | "remove";

/** Returns what is to be done about the node. */
export function nodeActionFor({ node, used, rules }: NodeWorld): NodeAction {
  if (!node) return "remove";
  if (hasLabels(node, rules.gameNodeSelector)) return "keep";
  return used > 0 ? "drain" : "remove";
}

/** Returns what the operator writes about a node that is not removed. */
export function statusOf({ node, gameNode, hasHeartbeat, used, rules, now }: NodeWorld, action: Exclude<NodeAction, "remove">): OperatorNodeStatus {
  const reason = node && unschedulableBecause(node, hasHeartbeat);
  const observedGeneration = gameNode?.metadata.generation ?? 0;
  const own = (gameNode?.status?.conditions ?? []).filter(({ type }) => gameNodeConditions.operator.some((own) => own === type));
  const isHealthy = healthOf(node, hasHeartbeat) === "Healthy";
  const ready = isHealthy
    ? { status: "True", reason: nodeReadyReasons.nodeAndAgentWell, message: "Kubelet and node agent report in time." } as const
    : { status: "False", reason: reason?.reason ?? nodeReadyReasons.unknown, message: reason?.message ?? "" } as const;
  const { external, internal } = node ? addressesOf(node) : {};
  const addresses = { ...(internal === undefined ? {} : { internal }), ...(external === undefined ? {} : { external }) };
  return {
    observedGeneration,
    conditions: setCondition<Condition>(own, { type: "Ready", ...ready, observedGeneration }, now),
    capacity: {
      slots: node ? slotsOf(node, rules) : 0,
      used,
      schedulable: action === "keep" && reason === undefined,
    },
    // An empty object is left out, as the API server would drop it on the next change.
    ...(Object.keys(addresses).length === 0 ? {} : { addresses }),
  };
}

/** Returns whether the status differs from the GameNode's; `used`: only in the count of sessions. */
export function differenceOf(gameNode: GameNode | undefined, after: OperatorNodeStatus): "none" | "used" | "major" {
  const before = gameNode?.status;
  const essence = (status: GameNodeStatus | undefined) => {
    const ready = findCondition(status?.conditions, "Ready");
    return { ready: [ready?.status, ready?.reason], capacity: { ...status?.capacity, used: 0 }, addresses: status?.addresses };
  };
  if (!isDeepStrictEqual(essence(before), essence(after))) return "major";
  return before?.capacity?.used === after.capacity?.used ? "none" : "used";
}

/** Returns whether the node is asked to hold the same as before, in whatever order. */
export function isSameDesired(before: readonly DesiredContent[] | undefined, after: readonly DesiredContent[]): boolean {
  const sorted = (list: readonly DesiredContent[]) => list.toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
  return before !== undefined && isDeepStrictEqual(sorted(before), sorted(after));
}
