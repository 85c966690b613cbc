import type { GameNode } from "#contracts/crd/gameNode.ts";
import {
  addShares,
  lackOf,
  nodeOffer,
  subtractShares,
  type Lack,
  type NodeShare,
  type PodResources,
} from "#contracts/crd/nodeShare.ts";

/** Why no node has room for a session; `isTooLarge` when none would have it without other sessions either. */
export interface Shortage {
  /** At least one lack. There are several where different nodes lack different things. */
  lacks: readonly Lack[];
  isTooLarge: boolean;
  /** What the session's pod requests. */
  needed: NodeShare;
}

interface Offer {
  overhead: PodResources;
  whole: NodeShare;
  left: NodeShare;
}

/**
 * How many of the sessions that wait for a node are counted. More of them wait only while nothing is placed
 * at all.
 */
const waitingCounted = 100;

/**
 * Returns what a session lacks on every node that takes sessions, as the operator counts it; undefined where
 * a node has room, and where there is no node. `waiting` is what sessions take that have no node yet. Neither
 * it nor `needed` includes what a pod requests beside its game.
 */
export function shortageOf(
  needed: NodeShare,
  {
    gameNodes,
    loadOn,
    waiting,
  }: { gameNodes: readonly GameNode[]; loadOn: (node: GameNode) => NodeShare; waiting: readonly NodeShare[] },
): Shortage | undefined {
  const offers = gameNodes.flatMap((node): Offer[] => {
    const whole = nodeOffer(node);
    return whole === undefined
      ? []
      : [
          {
            whole,
            left: subtractShares(whole, loadOn(node)),
            overhead: node.status?.capacity?.overhead ?? { cpuMillicores: 0, memoryBytes: 0 },
          },
        ];
  });
  const [first] = offers;
  if (first === undefined) return undefined;
  for (const share of waiting.slice(0, waitingCounted)) {
    const offer = offers.find(({ left, overhead }) => lackOf(podShare(share, overhead), left) === undefined);
    if (offer) offer.left = subtractShares(offer.left, podShare(share, offer.overhead));
  }
  const lacks = lacksOf(offers.map(({ left, overhead }) => lackOf(podShare(needed, overhead), left)));
  if (lacks.length === 0) return undefined;
  const lacksOfWhole = lacksOf(
    offers.map(({ whole, overhead }) => lackOf(podShare(needed, overhead), whole)),
  );
  const isTooLarge = lacksOfWhole.length > 0;
  return { lacks: isTooLarge ? lacksOfWhole : lacks, isTooLarge, needed: podShare(needed, first.overhead) };
}

function podShare(share: NodeShare, overhead: PodResources): NodeShare {
  return addShares(share, { slots: 0, ...overhead });
}

/**
 * Returns nothing where a node has room; else what nodes with free slots lack, as that tells more than that
 * others have none.
 */
function lacksOf(byNode: readonly (Lack | undefined)[]): Lack[] {
  if (byNode.includes(undefined)) return [];
  const resources = (["memory", "processors"] as const).filter((lack) => byNode.includes(lack));
  return resources.length === 0 ? ["slots"] : resources;
}
