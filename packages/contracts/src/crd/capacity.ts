import type { GameNode } from "./gameNode.ts";
import type { GameSessionSpec } from "./gameSessionSpec.ts";

// Free resources on game nodes. The API uses them to admit launches, and the operator to place sessions.

/** CPU and memory requests of pods. */
export interface PodResources {
  cpuMillicores: number;
  memoryBytes: number;
}

/** The resources that a session uses on its node, or that a node offers. */
export interface NodeShare extends PodResources {
  slots: number;
}

/** What a node may be short of, in order of precedence. */
export type Lack = "slots" | "memory" | "processors";

/** An empty share. */
export const noShare: NodeShare = { slots: 0, cpuMillicores: 0, memoryBytes: 0 };

/** The overhead of pods that request nothing in addition to their game. */
export const noOverhead: PodResources = { cpuMillicores: 0, memoryBytes: 0 };

/** The resources of a node that does not report any: only the scheduler knows whether a pod fits there. */
export const unlimitedResources: PodResources = {
  cpuMillicores: Number.POSITIVE_INFINITY,
  memoryBytes: Number.POSITIVE_INFINITY,
};

/**
 * Returns the resources that a session uses on its node, including those that its pod requests in addition to
 * the game.
 */
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

/** Returns what is missing for a session if `left` is free on a node; undefined if the session fits. */
export function lackOf(needed: NodeShare, left: NodeShare): Lack | undefined {
  if (needed.slots > left.slots) return "slots";
  if (needed.memoryBytes > left.memoryBytes) return "memory";
  return needed.cpuMillicores > left.cpuMillicores ? "processors" : undefined;
}

/**
 * Returns the resources that a node offers to all sessions together, according to its status; undefined if
 * the node accepts no sessions.
 */
export function nodeOffer({ status }: GameNode): NodeShare | undefined {
  const capacity = status?.capacity;
  if (capacity?.schedulable !== true) return undefined;
  return { slots: capacity.slots, ...(capacity.offered ?? unlimitedResources) };
}

/** Sums the shares of sessions per node. Reading a sum takes the same time for any number of sessions. */
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

  /** Returns the sum of the shares of the node, without that of `exceptSession`. */
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
 * Returns how many sessions fit in the cluster, including running ones: the slots of nodes that accept
 * sessions, plus the sessions on other nodes.
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

/**
 * Maximum number of waiting sessions that are counted. More wait only while no session can be placed at all.
 */
const waitingCounted = 100;

/**
 * Returns what is missing for a session on every node that accepts sessions; undefined if a node has room, or
 * if there is no such node.
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

/**
 * Returns the total of the shares of a node, including what pods request in addition to their game, if
 * `loads` exclude it.
 */
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
 * Returns an empty list if a node has room. Otherwise returns what is missing on nodes with free slots,
 * because this is more helpful than a lack of slots on other nodes.
 */
function lacksOf(byNode: readonly (Lack | undefined)[]): Lack[] {
  if (byNode.includes(undefined)) return [];
  const resources = (["memory", "processors"] as const).filter((lack) => byNode.includes(lack));
  return resources.length === 0 ? ["slots"] : resources;
}
