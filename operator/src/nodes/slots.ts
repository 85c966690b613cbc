import { nodeReadyReasons, type NodeReadyReason } from "#contracts/crd/gameNodeReasons.ts";
import type { Node } from "#kube/api/builtin.ts";
import { matchesLabels, type LabelRequirement } from "#kube/api/labelSelector.ts";
import type { GpuConfig, Toleration } from "../gpu/gpuConfig.ts";
import { gpuSlotsOf } from "../gpu/nodeDevices.ts";
import { isNodeReady } from "./nodeHealth.ts";

/** Settings that define the game nodes and their slots. */
export interface SlotRules {
  gameNodeSelector: readonly LabelRequirement[];
  /** Selects the game nodes that sessions are placed on. */
  sessionNodeSelector: Readonly<Record<string, string>>;
  gpu: GpuConfig | undefined;
  /** Tolerations of session pods. */
  tolerations: readonly Toleration[];
  softwareSlots: number;
}

/** Returns whether the node's labels make it a game node. */
export function isGameNode(node: Node, { gameNodeSelector }: Pick<SlotRules, "gameNodeSelector">): boolean {
  return matchesLabels(node.metadata.labels, gameNodeSelector);
}

/**
 * Returns the number of sessions that fit on the node: by its GPUs, or the configured number if games render
 * in software.
 */
export function slotsOf(
  node: Node,
  { gpu, softwareSlots }: Pick<SlotRules, "gpu" | "softwareSlots">,
): number {
  return gpu ? gpuSlotsOf(node, gpu) : softwareSlots;
}

/**
 * Taints that mirror state checked elsewhere: the kubelet's Ready condition and the cordon. Kubernetes' other
 * taints, such as disk-pressure, keep session pods off like any pod. The same holds for memory-pressure. Only
 * the admission plugin PodTolerationRestriction, which is off by default, lets pods that request memory
 * tolerate it. Even then a node that evicts pods for lack of memory is no place for a new game.
 */
const taintsCheckedElsewhere: ReadonlySet<string> = new Set([
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/unschedulable",
]);

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];

/** Returns a taint that keeps session pods off the node. Undefined if there is none or they tolerate it. */
function repellingTaint(node: Node, tolerations: readonly Toleration[]): Taint | undefined {
  return node.spec?.taints?.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") &&
      !taintsCheckedElsewhere.has(taint.key) &&
      !tolerations.some((toleration) => tolerates(toleration, taint)),
  );
}

/**
 * Returns whether the toleration matches the taint, by the scheduler's rules. A toleration without effect
 * tolerates taints of every effect. One without key, allowed only with `Exists`, tolerates every taint.
 */
export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (operator === "Exists") return key === undefined || key === taint.key;
  return key === taint.key && (value ?? "") === (taint.value ?? "");
}

/** The reason why a node takes no new sessions. */
export interface Unschedulable {
  reason: NodeReadyReason;
  message: string;
}

/** Returns why the node takes no new sessions, not counting its checks. Undefined if it takes them. */
export function unschedulableReason(
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
