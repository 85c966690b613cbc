import { isDeepStrictEqual } from "node:util";
import type { Condition } from "#contracts/crd/kind.ts";
import {
  gameNodeConditions,
  type DesiredContent,
  type GameNode,
  type GameNodeStatus,
} from "#contracts/crd/gameNode.ts";
import type { PodResources } from "#contracts/crd/capacity.ts";
import { drainingReasons, lostReasons, nodeReadyReasons } from "#contracts/crd/gameNodeReasons.ts";
import type { Node } from "#kube/api/builtin.ts";
import { findCondition, setCondition, type ConditionUpdate } from "#kube/api/conditions.ts";
import type { Stored } from "#kube/api/object.ts";
import { gpuSharingOf } from "../../gpu/nodeDevices.ts";
import { healthOf, type NodeHealth } from "../../nodes/nodeHealth.ts";
import { addressesOf, announcedAddresses } from "../../nodes/addresses.ts";
import { checksOf, failedCheck, type CheckRules } from "../../nodes/nodeChecks.ts";
import { filledOf } from "../../nodes/nodeFill.ts";
import { isGameNode, slotsOf, unschedulableReason, type SlotRules } from "../../nodes/slots.ts";

/** The observed state of one game node in a pass. */
export interface NodeWorld {
  node: Node | undefined;
  gameNode: Stored<GameNode> | undefined;
  /** Current versions of pinned games that the policies request on the node. */
  pinned: readonly DesiredContent[];
  fillDeadlineMs: number;
  hasHeartbeat: boolean;
  /**
   * Health used for decisions about the node's sessions: Unknown instead of Lost while too many nodes are
   * silent.
   */
  health: NodeHealth;
  /** Slots in use by sessions. */
  used: number;
  /** Resources available to session pods in total. Undefined if the node does not report them. */
  offered: PodResources | undefined;
  /** Resources that each session pod requests in addition to its game. */
  overhead: PodResources;
  /** Whether a finished session may have left a save that the agent has not stored yet. */
  hasPendingSave: boolean;
  /** UDP ports taken by pods that are not session pods. */
  takenPorts: ReadonlySet<number>;
  rules: SlotRules & CheckRules;
  now: Date;
}

/** The part of a GameNode's status that the operator writes. */
export type OperatorNodeStatus = Pick<
  GameNodeStatus,
  "observedGeneration" | "conditions" | "capacity" | "addresses"
>;

/**
 * The action for a GameNode. `keep`: its node is a game node. `drain`: its node is no longer a game node, but
 * sessions or saves are left there. `remove`: nothing is left there.
 */
export type NodeAction = "keep" | "drain" | "remove";

/** Returns what to do with the node's GameNode. */
export function nodeActionFor({ node, used, hasPendingSave, rules }: NodeWorld): NodeAction {
  if (!node) return "remove";
  if (isGameNode(node, rules)) return "keep";
  return used > 0 || hasPendingSave ? "drain" : "remove";
}

/** Returns the status that the operator writes for a node that is not removed. */
export function statusOf(world: NodeWorld, action: Exclude<NodeAction, "remove">): OperatorNodeStatus {
  const { node, gameNode, used, offered, overhead, takenPorts, rules, now } = world;
  const checks = node ? checksOf(node, takenPorts, rules) : [];
  const unschedulable = unschedulableOf(world, action, checks);
  const observedGeneration = gameNode?.metadata.generation ?? 0;
  const own = (gameNode?.status?.conditions ?? []).filter(({ type }) =>
    gameNodeConditions.operator.some((own) => own === type),
  );
  const addresses = node ? addressesToReport(node, rules) : {};
  return {
    observedGeneration,
    conditions: [
      readyOf(world),
      drainingOf(action),
      lostOf(world),
      filledOf(world),
      ...(node ? [gpuNotSharedOf(node, rules)] : []),
      ...checks,
    ].reduce<Condition[]>(
      (known, finding) => setCondition<Condition>(known, { ...finding, observedGeneration }, now),
      own,
    ),
    capacity: {
      slots: node ? slotsOf(node, rules) : 0,
      used,
      schedulable: unschedulable === undefined,
      ...(unschedulable === undefined ? {} : { unschedulable }),
      ...(offered === undefined ? {} : { offered }),
      overhead,
    },
    // An empty object is omitted, because the API server would drop it on the next change.
    ...(Object.keys(addresses).length === 0 ? {} : { addresses }),
  };
}

type Finding = Omit<Condition, "lastTransitionTime" | "observedGeneration">;

function addressesToReport(
  node: Node,
  { announceAddresses }: CheckRules,
): NonNullable<OperatorNodeStatus["addresses"]> {
  const known = addressesOf(node);
  const [[external], [internal], announced] = [
    known.external,
    known.internal,
    announcedAddresses(announceAddresses, known),
  ];
  return {
    ...(internal === undefined ? {} : { internal }),
    ...(external === undefined ? {} : { external }),
    ...(announced.length === 0 ? {} : { announced }),
  };
}

/**
 * Returns why the node takes no new sessions. Undefined if it takes them. A silent agent is reported as such,
 * before the last findings that it reported.
 */
function unschedulableOf(
  { node, gameNode, hasHeartbeat, rules }: NodeWorld,
  action: Exclude<NodeAction, "remove">,
  checks: readonly ConditionUpdate[],
): { reason: string; message: string } | undefined {
  const draining = drainingOf(action);
  if (draining.status === "True" || !node) return { reason: draining.reason, message: draining.message };
  const agents = (gameNode?.status?.conditions ?? []).filter(({ type }) =>
    gameNodeConditions.nodeAgent.some((own) => own === type),
  );
  return unschedulableReason(node, hasHeartbeat, rules) ?? failedCheck([...checks, ...agents]);
}

function readyOf({ node, hasHeartbeat, rules }: NodeWorld): Finding {
  if (healthOf(node, hasHeartbeat) === "Healthy") {
    return {
      type: "Ready",
      status: "True",
      reason: nodeReadyReasons.nodeAndAgentWell,
      message: "The kubelet and the node agent report in time.",
    };
  }
  const unschedulable = node && unschedulableReason(node, hasHeartbeat, rules);
  return {
    type: "Ready",
    status: "False",
    reason: unschedulable?.reason ?? nodeReadyReasons.unknown,
    message: unschedulable?.message ?? "",
  };
}

function drainingOf(action: Exclude<NodeAction, "remove">): Finding {
  if (action === "keep")
    return {
      type: "Draining",
      status: "False",
      reason: drainingReasons.gameNode,
      message: "The node is a game node.",
    };
  const message =
    "The node no longer has the game-node label. It takes no new sessions. Its agent stays until the last session has ended and its save is stored.";
  return { type: "Draining", status: "True", reason: drainingReasons.labelRemoved, message };
}

function lostOf({ node, hasHeartbeat, health }: NodeWorld): Finding {
  if (health === "Lost")
    return {
      type: "Lost",
      status: "True",
      reason: lostReasons.silent,
      message: "Neither the kubelet nor the node agent reports. The node's sessions were ended.",
    };
  if (healthOf(node, hasHeartbeat) !== "Lost")
    return {
      type: "Lost",
      status: "False",
      reason: lostReasons.heard,
      message: "The kubelet or the node agent reports.",
    };
  const message =
    "Neither the kubelet nor the node agent reports, but many game nodes went silent at the same time. The node's sessions continue until most nodes report again.";
  return { type: "Lost", status: "Unknown", reason: lostReasons.brakeHolds, message };
}

function gpuNotSharedOf(node: Node, { gpu }: SlotRules): Finding {
  return { type: "GpuNotShared", ...gpuSharingOf(node, gpu) };
}

/**
 * Returns how the status differs from the GameNode's. `used`: only the number of sessions differs. `minor`:
 * the capacity left by other pods, the message of a condition or the observed generation may differ too.
 */
export function differenceOf(
  gameNode: GameNode | undefined,
  after: OperatorNodeStatus,
): "none" | "used" | "minor" | "major" {
  const before = gameNode?.status;
  const essence = (status: GameNodeStatus | undefined) => {
    const conditions = gameNodeConditions.operator.map((type) => findCondition(status?.conditions, type));
    return {
      conditions: conditions.map((condition) => [condition?.status, condition?.reason]),
      capacity: { ...status?.capacity, used: 0, offered: undefined },
      addresses: status?.addresses,
    };
  };
  if (!isDeepStrictEqual(essence(before), essence(after))) return "major";
  const messagesOf = (status: GameNodeStatus | undefined) =>
    gameNodeConditions.operator.map((type) => findCondition(status?.conditions, type)?.message);
  const isSame =
    isDeepStrictEqual(before?.capacity?.offered, after.capacity?.offered) &&
    isDeepStrictEqual(messagesOf(before), messagesOf(after)) &&
    before?.observedGeneration === after.observedGeneration;
  if (!isSame) return "minor";
  return before?.capacity?.used === after.capacity?.used ? "none" : "used";
}

/** Returns whether the desired content is the same, regardless of order. */
export function isSameDesired(
  before: readonly DesiredContent[] | undefined,
  after: readonly DesiredContent[],
): boolean {
  const sorted = (list: readonly DesiredContent[]) => list.toSorted((a, b) => (a.digest < b.digest ? -1 : 1));
  return before !== undefined && isDeepStrictEqual(sorted(before), sorted(after));
}
