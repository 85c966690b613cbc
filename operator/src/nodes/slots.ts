import { nodeReadyReasons, type NodeReadyReason } from "#contracts/crd/gameNodeReasons.ts";
import type { Node } from "#kube/api/builtin.ts";
import { matchesLabels, type LabelRequirement } from "#kube/api/labelSelector.ts";
import type { GpuConfig, Toleration } from "../gpu/gpuConfig.ts";
import { gpuSlotsOf } from "../gpu/nodeDevices.ts";
import { isNodeReady } from "./nodeHealth.ts";

/** What makes a node a game node, and how many sessions fit on it. */
export interface SlotRules {
  gameNodeSelector: readonly LabelRequirement[];
  /** Of the game nodes, those that sessions are placed on. */
  sessionNodeSelector: Readonly<Record<string, string>>;
  gpu: GpuConfig | undefined;
  /** Of session pods. */
  tolerations: readonly Toleration[];
  softwareSlots: number;
}

/** Returns whether the node runs games, by its labels. */
export function isGameNode(node: Node, { gameNodeSelector }: Pick<SlotRules, "gameNodeSelector">): boolean {
  return matchesLabels(node.metadata.labels, gameNodeSelector);
}

/**
 * Returns how many sessions fit on the node: by its GPUs, or the configured number when games render in
 * software.
 */
export function slotsOf(
  node: Node,
  { gpu, softwareSlots }: Pick<SlotRules, "gpu" | "softwareSlots">,
): number {
  return gpu ? gpuSlotsOf(node, gpu) : softwareSlots;
}

/**
 * Taints that follow from what is looked at itself: the kubelet's Ready, and the cordon. Kubernetes' other
 * taints, such as disk-pressure, keep session pods off as anybody's do. So does memory-pressure: only the
 * admission plugin PodTolerationRestriction, which is off by default, lets pods that request memory tolerate
 * it, and where it is on, a node that evicts pods for want of memory is still no place for a new game.
 */
const followingTaints: ReadonlySet<string> = new Set([
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/unschedulable",
]);

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

/**
 * Returns a taint that keeps session pods off the node; undefined when there is none, or they tolerate it.
 */
function repellingTaint(node: Node, tolerations: readonly Toleration[]): Taint | undefined {
  return node.spec?.taints?.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") &&
      !followingTaints.has(taint.key) &&
      !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
}

/**
 * Returns what the scheduler would say. A toleration without effect tolerates taints of every effect. One
 * without key, which only `Exists` may lack, tolerates every taint.
 */
export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (operator === "Exists") return key === undefined || key === taint.key;
  return key === taint.key && (value ?? "") === (taint.value ?? "");
}

/** Why a node takes no new sessions. */
export interface Unschedulable {
  reason: NodeReadyReason;
  message: string;
}

/** Returns why the node takes no new session, its checks apart, or undefined when it does. */
export function unschedulableBecause(
  node: Node,
  hasHeartbeat: boolean,
  { tolerations, sessionNodeSelector }: Pick<SlotRules, "tolerations" | "sessionNodeSelector">,
): Unschedulable | undefined {
  if (node.metadata.deletionTimestamp !== undefined)
    return { reason: nodeReadyReasons.nodeDeleting, message: "The node is being deleted." };
  if (!isNodeReady(node))
    return {
      reason: nodeReadyReasons.nodeNotReady,
      message: "The kubelet does not report the node as ready.",
    };
  if (!hasHeartbeat)
    return { reason: nodeReadyReasons.agentSilent, message: "The node agent has not reported recently." };
  if (node.spec?.unschedulable === true)
    return { reason: nodeReadyReasons.nodeCordoned, message: "The node is cordoned." };
  const taint = repellingTaint(node, tolerations);
  if (taint)
    return {
      reason: nodeReadyReasons.nodeTainted,
      message: `The node has the taint ${taint.key}, which session pods do not tolerate.`,
    };
  const [label] =
    Object.entries(sessionNodeSelector).find(([name, value]) => node.metadata.labels?.[name] !== value) ?? [];
  if (label !== undefined)
    return {
      reason: nodeReadyReasons.nodeNotSelected,
      message: `The node's label ${label} does not match the nodeSelector of session pods.`,
    };
  return undefined;
}
