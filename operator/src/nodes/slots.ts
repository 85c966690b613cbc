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

/** Returns why the node takes no new session, or undefined when it does. */
export function unschedulableBecause(node: Node, hasHeartbeat: boolean): { reason: NodeReadyReason; message: string } | undefined {
  if (node.metadata.deletionTimestamp !== undefined) return { reason: nodeReadyReasons.nodeDeleting, message: "The node is being deleted." };
  if (!isNodeReady(node)) return { reason: nodeReadyReasons.nodeNotReady, message: "The kubelet does not report the node as ready." };
  if (!hasHeartbeat) return { reason: nodeReadyReasons.agentSilent, message: "The node agent has not been heard of lately." };
  if (node.spec?.unschedulable === true) return { reason: nodeReadyReasons.nodeCordoned, message: "The node is cordoned." };
  return undefined;
}
