import type { GameNode } from "./gameNode.ts";
import type { GameSessionSpec } from "./gameSessionSpec.ts";

// The room on game nodes, as the API counts it to admit launches and the operator to place sessions.

/** Processors and memory that pods request. */
export interface PodResources {
  cpuMillicores: number;
  memoryBytes: number;
}

/** What a session takes of its node, or a node has. */
export interface NodeShare extends PodResources {
  slots: number;
}

/** What a session may lack on a node, in order of precedence. */
export type Lack = "slots" | "memory" | "processors";

/** Nothing of a node. */
export const noShare: NodeShare = { slots: 0, cpuMillicores: 0, memoryBytes: 0 };

/** The overhead of pods that request nothing in addition to their game. */
export const noOverhead: PodResources = { cpuMillicores: 0, memoryBytes: 0 };

/** The resources of a node that does not report any: only the scheduler knows whether a pod fits there. */
export const unlimitedResources: PodResources = {
  cpuMillicores: Number.POSITIVE_INFINITY,
  memoryBytes: Number.POSITIVE_INFINITY,
};

/** Returns what a session takes of its node, including what its pod requests in addition to the game. */
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

/** Returns the sum of two shares. */
export function addShares(a: NodeShare, b: NodeShare): NodeShare {
  return {
    slots: a.slots + b.slots,
    cpuMillicores: a.cpuMillicores + b.cpuMillicores,
    memoryBytes: a.memoryBytes + b.memoryBytes,
  };
}

/** Returns the difference of two shares; its amounts are negative if the second is larger. */
export function subtractShares(a: NodeShare, b: NodeShare): NodeShare {
  return {
    slots: a.slots - b.slots,
    cpuMillicores: a.cpuMillicores - b.cpuMillicores,
    memoryBytes: a.memoryBytes - b.memoryBytes,
  };
}

/** Returns what a session lacks if `left` is left of a node; undefined if it fits. */
export function lackOf(needed: NodeShare, left: NodeShare): Lack | undefined {
  if (needed.slots > left.slots) return "slots";
  if (needed.memoryBytes > left.memoryBytes) return "memory";
  return needed.cpuMillicores > left.cpuMillicores ? "processors" : undefined;
}

/**
 * Returns what all sessions together may take of a node, by its status; undefined if the node takes no
 * sessions.
 */
export function nodeOffer({ status }: GameNode): NodeShare | undefined {
  const capacity = status?.capacity;
  if (capacity?.schedulable !== true) return undefined;
  return { slots: capacity.slots, ...(capacity.offered ?? unlimitedResources) };
}

/** Sums what sessions take of each node. Reading a sum costs the same however many sessions there are. */
export class NodeLoads {
  readonly #byNode = new Map<string, { share: NodeShare; sessions: number }>();
  /** By session: its share of each node. A session that moves has a share of two nodes. */
  readonly #bySession = new Map<string, ReadonlyMap<string, NodeShare>>();

  /** The number of sessions that have a share of any node. */
  get sessions(): number {
    return this.#bySession.size;
  }

  /** Sets the session's shares by node, replacing those set before. */
  set(session: string, shares: ReadonlyMap<string, NodeShare>): void {
    for (const [nodeName, share] of this.#bySession.get(session) ?? [])
      this.#add(nodeName, subtractShares(noShare, share), -1);
    for (const [nodeName, share] of shares) this.#add(nodeName, share, 1);
    if (shares.size === 0) this.#bySession.delete(session);
    else this.#bySession.set(session, shares);
  }

  /** Returns whether the session has a share of any node. */
  has(session: string): boolean {
    return this.#bySession.has(session);
  }

  /** Returns what all sessions take of the node, except `exceptSession`. */
  on(nodeName: string, exceptSession?: string): NodeShare {
    const all = this.#byNode.get(nodeName)?.share ?? noShare;
    const excepted = exceptSession === undefined ? undefined : this.ofSession(exceptSession, nodeName);
    return excepted === undefined ? all : subtractShares(all, excepted);
  }

  /** Returns how many sessions have a share of the node. */
  sessionsOn(nodeName: string): number {
    return this.#byNode.get(nodeName)?.sessions ?? 0;
  }

  /** Returns the session's share of the node; undefined if it has none. */
  ofSession(session: string, nodeName: string): NodeShare | undefined {
    return this.#bySession.get(session)?.get(nodeName);
  }

  #add(nodeName: string, share: NodeShare, sessions: 1 | -1): void {
    const before = this.#byNode.get(nodeName) ?? { share: noShare, sessions: 0 };
    const count = before.sessions + sessions;
    if (count === 0) this.#byNode.delete(nodeName);
    else this.#byNode.set(nodeName, { share: addShares(before.share, share), sessions: count });
  }
}

/**
 * Returns how many sessions fit the cluster, running ones included: the slots of nodes that take sessions,
 * plus the sessions on other nodes.
 */
export function sessionsMax(gameNodes: readonly GameNode[], loads: NodeLoads): number {
  const schedulable = gameNodes.filter((node) => nodeOffer(node) !== undefined);
  const slots = schedulable.reduce((sum, { status }) => sum + (status?.capacity?.slots ?? 0), 0);
  const placedThere = schedulable.reduce((sum, { metadata }) => sum + loads.sessionsOn(metadata.name), 0);
  return slots + (loads.sessions - placedThere);
}

/** Why no node has room for a session. */
export interface Shortage {
  /** At least one. There are several if different nodes lack different things. */
  lacks: readonly Lack[];
  /** True if no node would have room even without other sessions. */
  isTooLarge: boolean;
  /** What the session's pod requests. */
  needed: NodeShare;
}

/** What a shortage is computed from. No share includes what pods request in addition to their game. */
export interface ShortageInput {
  gameNodes: readonly GameNode[];
  loads: Pick<NodeLoads, "on" | "sessionsOn">;
  /** Shares of the sessions that have no node yet. */
  waiting: readonly NodeShare[];
}

/** How many waiting sessions are counted. More of them wait only while nothing is placed at all. */
const waitingCounted = 100;

/**
 * Returns what a session lacks on every node that takes sessions; undefined if a node has room, or if there
 * is no node.
 */
export function shortageOf(
  needed: NodeShare,
  { gameNodes, loads, waiting }: ShortageInput,
): Shortage | undefined {
  const rooms = gameNodes.flatMap((node) => roomOn(node, loads) ?? []);
  const [first] = rooms;
  if (first === undefined) return undefined;
  for (const share of waiting.slice(0, waitingCounted)) {
    const room = rooms.find(({ left, overhead }) => lackOf(podShare(share, overhead), left) === undefined);
    if (room) room.left = subtractShares(room.left, podShare(share, room.overhead));
  }
  const lacks = lacksOf(rooms.map(({ left, overhead }) => lackOf(podShare(needed, overhead), left)));
  if (lacks.length === 0) return undefined;
  const lacksOfWhole = lacksOf(rooms.map(({ whole, overhead }) => lackOf(podShare(needed, overhead), whole)));
  const isTooLarge = lacksOfWhole.length > 0;
  return { lacks: isTooLarge ? lacksOfWhole : lacks, isTooLarge, needed: podShare(needed, first.overhead) };
}

interface NodeRoom {
  overhead: PodResources;
  whole: NodeShare;
  left: NodeShare;
}

function roomOn(node: GameNode, loads: ShortageInput["loads"]): NodeRoom | undefined {
  const whole = nodeOffer(node);
  return (
    whole && { overhead: overheadOn(node), whole, left: subtractShares(whole, loadWithOverhead(node, loads)) }
  );
}

/** Returns what sessions take of a node if `loads` exclude what each of their pods requests in addition. */
export function loadWithOverhead(node: GameNode, loads: ShortageInput["loads"]): NodeShare {
  const { name } = node.metadata;
  const { cpuMillicores, memoryBytes } = overheadOn(node);
  const sessions = loads.sessionsOn(name);
  return addShares(loads.on(name), {
    slots: 0,
    cpuMillicores: sessions * cpuMillicores,
    memoryBytes: sessions * memoryBytes,
  });
}

function overheadOn({ status }: GameNode): PodResources {
  return status?.capacity?.overhead ?? noOverhead;
}

function podShare(share: NodeShare, overhead: PodResources): NodeShare {
  return addShares(share, { slots: 0, ...overhead });
}

/**
 * Returns nothing if a node has room. Otherwise returns what nodes with free slots lack, which says more than
 * that other nodes have none.
 */
function lacksOf(byNode: readonly (Lack | undefined)[]): Lack[] {
  if (byNode.includes(undefined)) return [];
  const resources = (["memory", "processors"] as const).filter((lack) => byNode.includes(lack));
  return resources.length === 0 ? ["slots"] : resources;
}
