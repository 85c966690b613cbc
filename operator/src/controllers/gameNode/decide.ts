import { isDeepStrictEqual } from "node:util";
import type { Condition } from "#contracts/crd/condition.ts";
import { gameNodeConditions, type DesiredContent, type GameNode, type GameNodeStatus } from "#contracts/crd/gameNode.ts";
import type { Node } from "#kube/builtin.ts";
import { findCondition, setCondition } from "#kube/conditions.ts";
import { healthOf } from "../../nodes/nodeHealth.ts";
import { addressesOf } from "../../nodes/addresses.ts";
import { hasLabels, slotsOf, unschedulableBecause, type SlotRules } from "../../nodes/slots.ts";

/** All that is observed about one game node in a pass. */
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

/** `keep`: a game node. `drain`: no game node any more, but sessions are left. `remove`: neither. */
export function fateOf({ node, used, rules }: NodeWorld): "keep" | "drain" | "remove" {
  if (!node) return "remove";
  if (hasLabels(node, rules.gameNodeSelector)) return "keep";
  return used > 0 ? "drain" : "remove";
}

/** What the operator says about a node. */
export function statusOf({ node, gameNode, hasHeartbeat, used, rules, now }: NodeWorld, fate: "keep" | "drain"): OperatorNodeStatus {
  const reason = node && unschedulableBecause(node, hasHeartbeat);
  const observedGeneration = gameNode?.metadata.generation ?? 0;
  const own = (gameNode?.status?.conditions ?? []).filter(({ type }) => gameNodeConditions.operator.some((own) => own === type));
  const isWell = healthOf(node, hasHeartbeat) === "Well";
  const ready = isWell
    ? { status: "True", reason: "NodeAndAgentWell", message: "Kubelet and node agent report in time." } as const
    : { status: "False", reason: reason?.reason ?? "Unknown", message: reason?.message ?? "" } as const;
  const { external, internal } = node ? addressesOf(node) : {};
  const addresses = { ...(internal === undefined ? {} : { internal }), ...(external === undefined ? {} : { external }) };
  return {
    observedGeneration,
    conditions: setCondition<Condition>(own, { type: "Ready", ...ready, observedGeneration }, now),
    capacity: {
      slots: node ? slotsOf(node, rules) : 0,
      used,
      schedulable: fate === "keep" && reason === undefined,
    },
    // Nothing instead of an empty object: the API server would drop that on the next change anyway.
    ...(Object.keys(addresses).length === 0 ? {} : { addresses }),
  };
}

/** Whether the status says something else than the GameNode does; `used`: only the count of sessions. */
export function differenceOf(gameNode: GameNode | undefined, after: OperatorNodeStatus): "none" | "used" | "news" {
  const before = gameNode?.status;
  const essence = (status: GameNodeStatus | undefined) => {
    const ready = findCondition(status?.conditions, "Ready");
    return { ready: [ready?.status, ready?.reason], capacity: { ...status?.capacity, used: 0 }, addresses: status?.addresses };
  };
  if (!isDeepStrictEqual(essence(before), essence(after))) return "news";
  return before?.capacity?.used === after.capacity?.used ? "none" : "used";
}

/** Whether the node is asked to hold something else than before; order does not count. */
export function isSameDesired(before: readonly DesiredContent[] | undefined, after: readonly DesiredContent[]): boolean {
  const sorted = (list: readonly DesiredContent[]) => list.toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
  return before !== undefined && isDeepStrictEqual(sorted(before), sorted(after));
}
