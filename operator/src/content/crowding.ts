import type { GameCache } from "#contracts/crd/gameCache.ts";
import { limits } from "#contracts/limits.ts";
import { compareNames, spread, type FillNode } from "./fill.ts";

/**
 * Orders games by how much it matters that a node's list names them: nobody may evict a pinned one, so these
 * go before those of a higher priority.
 */
export function compareUrgency({ spec: a }: GameCache, { spec: b }: GameCache): number {
  return Number(b.pinned) - Number(a.pinned) || b.priority - a.priority;
}

/**
 * Returns the games that a node's list has no room for, by the nodes that are asked for more than that. Of
 * equally urgent ones each node leaves out others, and first those that nodes before it have taken, so that a
 * game is missing everywhere only where all lists together are too short. It goes by the games' names, so
 * that no upload takes a game off a list.
 */
export function leftOutOf(asked: ReadonlyMap<FillNode, readonly GameCache[]>): Map<FillNode, Set<GameCache>> {
  const leftOut = new Map<FillNode, Set<GameCache>>();
  const most = limits.node.cacheEntriesReported;
  const copies = new Map<GameCache, number>();
  for (const [node, games] of [...asked].sort(([a], [b]) => compareNames(a, b))) {
    const ordered = games.length > most ? orderedFor(node, games, copies) : games;
    for (const game of ordered.slice(0, most)) copies.set(game, (copies.get(game) ?? 0) + 1);
    if (games.length > most) leftOut.set(node, new Set(ordered.slice(most)));
  }
  return leftOut;
}

function orderedFor(
  { nodeName }: FillNode,
  games: readonly GameCache[],
  copies: ReadonlyMap<GameCache, number>,
): GameCache[] {
  const ranked = games.map((game) => ({
    game,
    copies: copies.get(game) ?? 0,
    hash: spread(game.metadata.name, nodeName),
  }));
  ranked.sort(
    (a, b) =>
      compareUrgency(a.game, b.game) ||
      a.copies - b.copies ||
      a.hash - b.hash ||
      (a.game.metadata.name < b.game.metadata.name ? -1 : 1),
  );
  return ranked.map(({ game }) => game);
}
