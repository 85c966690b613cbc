import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { CacheEntry } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Cluster } from "../cluster/cluster.ts";

/** A game node, with the inputs to the decision whether to fill it. */
export interface FillNode {
  nodeName: string;
  labels: Record<string, string>;
  /**
   * Whether the node takes new sessions as far as is known: its kubelet and agent report in time, and its
   * GameNode does not say otherwise. Games still to be downloaded make no difference.
   */
  isSchedulable: boolean;
  entries: readonly CacheEntry[];
}

/** Whether a node may fetch now or has to wait until other nodes have fetched. */
export interface Turn {
  hold: boolean;
}

/**
 * Returns the nodes that should hold the cache's current version by its policy, and which of them may fetch
 * it now.
 */
export function fillOf(cache: GameCache, nodes: readonly FillNode[]): Map<string, Turn> {
  return turnsOf(cache, targetsOf(cache, nodes));
}

/** Returns which of these target nodes may fetch the cache's current version now. */
export function turnsOf({ spec }: GameCache, targets: readonly FillNode[]): Map<string, Turn> {
  const digest = spec.source.sha256;
  const unfilled = targets.filter((node) => stateOn(node, digest) !== "Ready").sort(byTurn(digest));
  const active = new Set(unfilled.slice(0, spec.suspend ? 0 : spec.rollout.maxParallelNodes));
  return new Map(
    targets.map((node) => [node.nodeName, { hold: unfilled.includes(node) && !active.has(node) }]),
  );
}

/** Returns the state of the version on the node. Undefined if the node's agent does not report it. */
export function stateOn(
  { entries }: Pick<FillNode, "entries">,
  digest: string,
): CacheEntry["state"] | undefined {
  const known = statesByEntries.get(entries);
  if (known) return known.get(digest);
  const states = new Map(entries.map((entry) => [entry.digest, entry.state]));
  statesByEntries.set(entries, states);
  return states.get(digest);
}

/** Returns whether the agent of the session's node lists the session's version as unpacked and verified. */
export function isContentCached(
  { gameNodes }: Pick<Cluster, "gameNodes">,
  { status, spec }: GameSession,
): boolean {
  const cache = status?.nodeName === undefined ? undefined : gameNodes.get(status.nodeName)?.status?.cache;
  return cache !== undefined && stateOn(cache, spec.contentDigest) === "Ready";
}

/**
 * A node reports hundreds of versions, and every cache and launch looks one of them up. Lists of entries are
 * never modified, so the map is cached per list.
 */
const statesByEntries = new WeakMap<readonly CacheEntry[], ReadonlyMap<string, CacheEntry["state"]>>();

/** Returns the nodes that should hold the cache's current version by its policy. */
export function targetsOf(
  { metadata, spec: { placement, source } }: GameCache,
  nodes: readonly FillNode[],
): FillNode[] {
  if (placement.policy === "OnDemand") return [];
  const eligible = nodes.filter(({ labels }) =>
    Object.entries(placement.nodeSelector ?? {}).every(([label, value]) => labels[label] === value),
  );
  if (placement.policy === "All") return eligible;
  return eligible.sort(byAttachment(metadata.name, source.sha256)).slice(0, placement.count ?? 1);
}

/**
 * Prefers nodes that take sessions: if only other nodes hold the game, launches have to fetch it. Among these
 * it prefers nodes that already hold or fetch the version, so the choice is stable. The rest are ordered by a
 * hash of game and node, which spreads games over the nodes.
 */
function byAttachment(name: string, digest: string): (a: FillNode, b: FillNode) => number {
  const rank = (node: FillNode): number => {
    const state = stateOn(node, digest);
    return (
      (node.isSchedulable ? 0 : 4) +
      (state === "Ready" ? 0 : state === "Downloading" ? 1 : state === "Failed" ? 3 : 2)
    );
  };
  return (a, b) =>
    rank(a) - rank(b) || spread(name, a.nodeName) - spread(name, b.nodeName) || compareNames(a, b);
}

/**
 * Prefers nodes that have started. Nodes that take no sessions or have failed do not use up the turns of
 * others.
 */
function byTurn(digest: string): (a: FillNode, b: FillNode) => number {
  const rank = (node: FillNode): number => {
    const state = stateOn(node, digest);
    return (node.isSchedulable ? 0 : 4) + (state === "Downloading" ? 0 : state === "Failed" ? 2 : 1);
  };
  return (a, b) => rank(a) - rank(b) || compareNames(a, b);
}

/** Orders nodes by their names. */
export function compareNames(a: FillNode, b: FillNode): number {
  return a.nodeName < b.nodeName ? -1 : 1;
}

/** Returns an FNV-1a hash of game and node. The order only has to be even and stable. */
export function spread(name: string, nodeName: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${name}/${nodeName}`)
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash;
}
