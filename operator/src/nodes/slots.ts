import { nodeReadyReasons, type NodeReadyReason } from "#contracts/crd/reasons.ts";
import type { Node } from "#kube/builtin.ts";
import { isNodeReady } from "./nodeHealth.ts";

/** What makes a node a game node, and how many sessions fit on it. */
export interface SlotRules {
  gameNodeSelector: Record<string, string>;
  gpuResourceName: string | undefined;
  softwareSlots: number;
}

/** Returns whether the node has all the labels of the selector. */
export function hasLabels(node: Node, selector: Record<string, string>): boolean {
  return Object.entries(selector).every(([name, value]) => node.metadata.labels?.[name] === value);
}

/** Returns how many sessions fit on the node: its allocatable GPUs, or the configured number when games render in software. */
export function slotsOf(node: Node, { gpuResourceName, softwareSlots }: SlotRules): number {
  if (gpuResourceName === undefined) return softwareSlots;
  const allocatable = Number(node.status?.allocatable?.[gpuResourceName] ?? "0");
  return Number.isInteger(allocatable) && allocatable > 0 ? allocatable : 0;
}

/** Taints of Kubernetes' own follow from conditions that are looked at themselves, or that session pods tolerate. */
const ownTaintPrefix = "node.kubernetes.io/";

/** Returns a taint that keeps session pods off the node; undefined when there is none. They tolerate that of GPU nodes. */
export function repellingTaint(node: Node, gpuResourceName: string | undefined) {
  return node.spec?.taints?.find(({ key, effect }) => {
    const isTolerated = key.startsWith(ownTaintPrefix) || (effect === "NoSchedule" && key === gpuTaintKey(gpuResourceName));
    return (effect === "NoSchedule" || effect === "NoExecute") && !isTolerated;
  });
}

/** Returns the key of the taint that keeps other pods off nodes with GPUs. */
export function gpuTaintKey(gpuResourceName: string | undefined): string {
  return gpuResourceName ?? "nvidia.com/gpu";
}

/** Returns why the node takes no new session, or undefined when it does. */
export function unschedulableBecause(node: Node, hasHeartbeat: boolean, { gpuResourceName }: Pick<SlotRules, "gpuResourceName">): { reason: NodeReadyReason; message: string } | undefined {
  if (node.metadata.deletionTimestamp !== undefined) return { reason: nodeReadyReasons.nodeDeleting, message: "The node is being deleted." };
  if (!isNodeReady(node)) return { reason: nodeReadyReasons.nodeNotReady, message: "The kubelet does not report the node as ready." };
  if (!hasHeartbeat) return { reason: nodeReadyReasons.agentSilent, message: "The node agent has not been heard of lately." };
  if (node.spec?.unschedulable === true) return { reason: nodeReadyReasons.nodeCordoned, message: "The node is cordoned." };
  const taint = repellingTaint(node, gpuResourceName);
  if (taint) return { reason: nodeReadyReasons.nodeTainted, message: `The node has taint ${taint.key}, which session pods do not tolerate.` };
  return undefined;
}
