import type { GameNode } from "./gameNode.ts";
import type { GameSessionSpec } from "./gameSessionSpec.ts";

/** Processors and memory that pods request. */
export interface PodResources {
  cpuMillicores: number;
  memoryBytes: number;
}

/** What a session takes of its node, or a node has. */
export interface NodeShare extends PodResources {
  slots: number;
}

/** What a session may lack on a node, in the order in which it is told. */
export type Lack = "slots" | "memory" | "processors";

/** Nothing of a node. */
export const noShare: NodeShare = { slots: 0, cpuMillicores: 0, memoryBytes: 0 };

/** Returns what a session takes of its node, with what its pod requests beside the game. */
export function sessionShare(
  { resources, saveVolumeBytes }: Pick<GameSessionSpec, "resources" | "saveVolumeBytes">,
  overhead: PodResources,
): NodeShare {
  return {
    slots: resources.gpuShare,
    cpuMillicores: resources.cpuMillicores + overhead.cpuMillicores,
    memoryBytes: resources.memoryBytes + saveVolumeBytes + overhead.memoryBytes,
  };
}

/**
 * Returns what all sessions together may take of a node that takes sessions; undefined when it takes none.
 * What its status does not say is unlimited.
 */
export function nodeOffer({ status }: GameNode): NodeShare | undefined {
  const capacity = status?.capacity;
  if (capacity?.schedulable !== true) return undefined;
  const unlimited = { cpuMillicores: Number.POSITIVE_INFINITY, memoryBytes: Number.POSITIVE_INFINITY };
  return { slots: capacity.slots, ...(capacity.offered ?? unlimited) };
}

/** Returns what a session lacks where so much is left; undefined when it fits. */
export function lackOf(needed: NodeShare, left: NodeShare): Lack | undefined {
  if (needed.slots > left.slots) return "slots";
  if (needed.memoryBytes > left.memoryBytes) return "memory";
  return needed.cpuMillicores > left.cpuMillicores ? "processors" : undefined;
}

/** Returns the sum of two shares. */
export function addShares(a: NodeShare, b: NodeShare): NodeShare {
  return {
    slots: a.slots + b.slots,
    cpuMillicores: a.cpuMillicores + b.cpuMillicores,
    memoryBytes: a.memoryBytes + b.memoryBytes,
  };
}

/** Returns what is left of the first share without the second; less than nothing where that is more. */
export function subtractShares(a: NodeShare, b: NodeShare): NodeShare {
  return {
    slots: a.slots - b.slots,
    cpuMillicores: a.cpuMillicores - b.cpuMillicores,
    memoryBytes: a.memoryBytes - b.memoryBytes,
  };
}
