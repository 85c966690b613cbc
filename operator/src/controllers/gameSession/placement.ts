import { lackOf, type Lack, type NodeShare, type PodResources } from "#contracts/crd/capacity.ts";
import { scheduledReasons } from "#contracts/crd/gameSessionReasons.ts";

/** A game node that could take a session. */
export interface Candidate {
  nodeName: string;
  slots: number;
  /** Slots used by unfinished sessions on the node. */
  used: number;
  /** CPU and memory that other sessions leave free. */
  left: PodResources;
  /** State on the node of the version to be played. */
  content: "Ready" | "Downloading" | "Absent" | "Failed";
  /** Whether the node is new and does not have its pinned games yet. */
  isFilling: boolean;
}

const contentOrder = { Ready: 0, Downloading: 1, Absent: 2, Failed: 3 } as const;

/**
 * Returns the best node with room. Undefined if there is none. Prefers, in this order, nodes that are not
 * being filled, nodes that hold the game, the least loaded, and the first by name.
 */
export function chooseNode<C extends Candidate>(candidates: readonly C[], needed: NodeShare): C | undefined {
  return candidates.filter((candidate) => lackOn(candidate, needed) === undefined).sort(byPreference)[0];
}

/**
 * Returns why no node was chosen, for the session's Scheduled condition. `refused` says why individual nodes
 * take no sessions.
 */
export function noNodeReason(
  candidates: readonly Candidate[],
  needed: NodeShare,
  refused: readonly string[] = [],
): { reason: NoNodeReason; message: string } {
  const { length } = candidates;
  if (length === 0) {
    const others = refused.length > nodesNamedMax ? ` And ${refused.length - nodesNamedMax} more.` : "";
    return {
      reason: scheduledReasons.noGameNodes,
      message:
        ["No game node is schedulable.", ...refused.slice(0, nodesNamedMax)].join(" ").slice(0, 1000) +
        others,
    };
  }
  const open = candidates.filter((candidate) => lackOn(candidate, needed) !== "slots");
  if (open.length === 0) {
    const message =
      needed.slots === 1
        ? `All slots of ${length} game nodes are in use.`
        : `None of ${length} game nodes has ${needed.slots} free slots.`;
    return { reason: scheduledReasons.noCapacity, message };
  }
  const request = `${mebibytesOf(needed)} of memory and ${needed.cpuMillicores}m processors`;
  const nodes = open
    .sort(byRoom)
    .slice(0, nodesNamedMax)
    .map(({ nodeName, left }) => `${nodeName} has ${mebibytesOf(left)} and ${left.cpuMillicores}m`);
  const others = open.length > nodesNamedMax ? ", and others less" : "";
  return {
    reason: scheduledReasons.insufficientResources,
    message: `No game node with free slots has enough free resources for the session's pod, which requests ${request}: ${nodes.join(", ")}${others}.`,
  };
}

/** Returns the reason used when all media ports of the nodes with room are taken. */
export function noFreePortOn(nodeNames: readonly string[]): {
  reason: typeof scheduledReasons.noFreePort;
  message: string;
} {
  const others = nodeNames.length > nodesNamedMax ? ` and ${nodeNames.length - nodesNamedMax} more` : "";
  return {
    reason: scheduledReasons.noFreePort,
    message: `All media ports of the game nodes with free slots are in use: ${nodeNames.slice(0, nodesNamedMax).join(", ")}${others}.`,
  };
}

type NoNodeReason =
  | typeof scheduledReasons.noGameNodes
  | typeof scheduledReasons.noCapacity
  | typeof scheduledReasons.insufficientResources;

/** Maximum number of nodes without room named in a message. */
const nodesNamedMax = 3;

function lackOn({ slots, used, left }: Candidate, needed: NodeShare): Lack | undefined {
  return lackOf(needed, { slots: slots - used, ...left });
}

function byRoom(a: Candidate, b: Candidate): number {
  return b.left.memoryBytes - a.left.memoryBytes || b.left.cpuMillicores - a.left.cpuMillicores;
}

function mebibytesOf({ memoryBytes }: PodResources): string {
  return `${Math.floor(memoryBytes / 2 ** 20)} MiB`;
}

function byPreference(a: Candidate, b: Candidate): number {
  return (
    Number(a.isFilling) - Number(b.isFilling) ||
    contentOrder[a.content] - contentOrder[b.content] ||
    a.used / a.slots - b.used / b.slots ||
    a.used - b.used ||
    (a.nodeName < b.nodeName ? -1 : 1)
  );
}

/** Returns the lowest free port of the range. Undefined if all are taken. */
export function choosePort(
  { first, last }: { first: number; last: number },
  taken: ReadonlySet<number>,
): number | undefined {
  for (let port = first; port <= last; port++) if (!taken.has(port)) return port;
  return undefined;
}
