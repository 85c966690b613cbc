import { BlockList, isIP } from "node:net";
import type { Condition } from "#contracts/crd/kind.ts";
import { gameNodeChecks } from "#contracts/crd/gameNode.ts";
import { announceAddressAnnotation } from "#contracts/crd/names.ts";
import {
  architectureSupportedReasons,
  portsFreeReasons,
  reachableReasons,
} from "#contracts/crd/gameNodeReasons.ts";
import type { Node } from "#kube/api/builtin.ts";
import type { ConditionUpdate } from "#kube/api/conditions.ts";
import { addressesOf } from "./addresses.ts";

/** Inputs of the node checks that the agent does not make. */
export interface CheckRules {
  /** Architecture that games are built for, in the kubelet's spelling. */
  architecture: string;
  mediaPorts: { first: number; last: number };
  /** Addresses that an admin has configured for all game nodes. */
  announceAddresses: readonly string[];
  /** Whether players have a relay, from the chart or elsewhere. */
  hasRelay: boolean;
  /** Whether pods that are not session pods are observed. */
  countsOtherPods: boolean;
}

/** Returns the operator's own checks of a node. `takenPorts` are the UDP ports that other pods use there. */
export function checksOf(node: Node, takenPorts: ReadonlySet<number>, rules: CheckRules): ConditionUpdate[] {
  return [architectureFinding(node, rules), portsFinding(takenPorts, rules), reachableFinding(node, rules)];
}

/** Returns the first failed check that keeps sessions off the node. Undefined if all pass or are unknown. */
export function failedCheck(
  conditions: readonly ConditionUpdate<Condition>[] | undefined,
): { reason: string; message: string } | undefined {
  const failed = gameNodeChecks.flatMap(
    (check) => conditions?.find(({ type, status }) => type === check && status === "False") ?? [],
  )[0];
  return failed && { reason: failed.reason, message: failed.message };
}

function architectureFinding(node: Node, { architecture }: CheckRules): ConditionUpdate {
  const type = "ArchitectureSupported";
  const found = node.status?.nodeInfo?.architecture ?? "";
  if (found === "")
    return {
      type,
      status: "Unknown",
      reason: architectureSupportedReasons.notReported,
      message: "The kubelet does not report the node's CPU architecture.",
    };
  if (found === architecture)
    return {
      type,
      status: "True",
      reason: architectureSupportedReasons.supported,
      message: `The node's CPU architecture is ${found}.`,
    };
  const message = `The node's CPU architecture is ${found}, but games are built for ${architecture}. Remove the game-node label, or set gameNodes.architecture if your games are built for ${found}.`;
  return { type, status: "False", reason: architectureSupportedReasons.otherArchitecture, message };
}

function portsFinding(
  takenPorts: ReadonlySet<number>,
  { mediaPorts: { first, last }, countsOtherPods }: CheckRules,
): ConditionUpdate {
  const type = "PortsFree";
  if (!countsOtherPods) {
    const message =
      "Other pods are not checked, because gameNodes.countOtherPods is false or session pods have a priority class (sessions.pods.priorityClassName).";
    return { type, status: "Unknown", reason: portsFreeReasons.notCounted, message };
  }
  const taken = [...takenPorts].filter((port) => port >= first && port <= last).length;
  if (taken === 0)
    return {
      type,
      status: "True",
      reason: portsFreeReasons.free,
      message: "No other pod uses a media port of the node.",
    };
  if (taken <= last - first)
    return {
      type,
      status: "True",
      reason: portsFreeReasons.someTaken,
      message: "Other pods use some media ports of the node. Sessions use the rest.",
    };
  const message = `Other pods use all media ports of the node, UDP ${first} to ${last}, as host ports. Choose a different range with media.portFirst and media.portLast.`;
  return { type, status: "False", reason: portsFreeReasons.allTaken, message };
}

const privateRanges = new BlockList();
for (const [net, bits] of [
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["100.64.0.0", 10],
  ["169.254.0.0", 16],
  ["127.0.0.0", 8],
] as const)
  privateRanges.addSubnet(net, bits, "ipv4");
for (const [net, bits] of [
  ["fc00::", 7],
  ["fe80::", 10],
  ["::1", 128],
] as const)
  privateRanges.addSubnet(net, bits, "ipv6");

function isPrivate(address: string): boolean {
  return privateRanges.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

function reachableFinding(node: Node, { announceAddresses, hasRelay }: CheckRules): ConditionUpdate {
  const type = "Reachable";
  const { annotated, external, internal } = addressesOf(node);
  const [given] = [...annotated, ...announceAddresses];
  if (given !== undefined)
    return {
      type,
      status: "True",
      reason: reachableReasons.addressGiven,
      message: `Players connect to ${given}.`,
    };
  const open = [...external, ...internal.filter((address) => !isPrivate(address))][0];
  if (open !== undefined)
    return {
      type,
      status: "True",
      reason: reachableReasons.publicAddress,
      message: `Players connect to ${open}.`,
    };
  if (internal.length === 0) {
    const message = `The node has no IP address. Give it one: kubectl annotate node ${node.metadata.name} ${announceAddressAnnotation}=ADDRESS.`;
    return { type, status: "False", reason: reachableReasons.noAddress, message };
  }
  if (hasRelay)
    return {
      type,
      status: "True",
      reason: reachableReasons.relayed,
      message: "The node has only private addresses. Players connect through the relay.",
    };
  const message =
    `The node has only private addresses (${internal.join(", ")}), which only players on the same network can reach. If a NAT forwards to the node, set its public address: ` +
    `kubectl annotate node ${node.metadata.name} ${announceAddressAnnotation}=ADDRESS; or set media.announceAddress, or turn.enabled, or turn.external.`;
  return {
    type,
    status: "Unknown",
    reason: reachableReasons.privateAddress,
    message: message.slice(0, 1024),
  };
}
