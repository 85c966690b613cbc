import type { ArchiveSource, GameCache } from "#contracts/crd/gameCache.ts";
import type { DesiredContent } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isPrepared } from "#contracts/crd/sessionState.ts";
import { limits } from "#contracts/limits.ts";
import { compareNames, type FillNode, spread, stateOn, targetsOf, type Turn, turnsOf } from "./fill.ts";

/** Content that a waiting session needs is fetched before everything else. */
const launchPriority = 1000;

/**
 * Returns the versions that the cache policies request on each node, by node name: current versions first,
 * the most urgent first, then older ones.
 */
export function wantedByPolicy(
  nodes: readonly FillNode[],
  caches: readonly GameCache[],
): Map<string, DesiredContent[]> {
  const targets = new Map(
    caches
      .filter(isLive)
      .sort(compareUrgency)
      .map((cache) => [cache, targetsOf(cache, nodes)]),
  );
  // With fewer games than a list can hold, as on most clusters, nothing is left out.
  const leftOut =
    targets.size > limits.node.cacheEntriesReported
      ? findOmittedGames(requestedGames(nodes, targets))
      : undefined;
  const current = new Map<string, DesiredContent[]>(nodes.map(({ nodeName }) => [nodeName, []]));
  const older = new Map<string, DesiredContent[]>(nodes.map(({ nodeName }) => [nodeName, []]));
  for (const [cache, those] of targets) {
    const isListed = (node: FillNode): boolean => leftOut?.get(node)?.has(cache) !== true;
    // A node whose list has no room for the game must not take a turn. It would never finish, and the other
    // nodes would wait for it.
    const turns = turnsOf(cache, those.filter(isListed));
    for (const node of nodes.filter(isListed)) {
      const turn = turns.get(node.nodeName);
      for (const content of turn ? byPolicy(cache, turn) : retainedOn(cache, node)) {
        (content.digest === cache.spec.source.sha256 ? current : older).get(node.nodeName)?.push(content);
      }
    }
  }
  return new Map(
    [...current].map(([nodeName, contents]) => [nodeName, [...contents, ...(older.get(nodeName) ?? [])]]),
  );
}

/**
 * Returns the desired content of one node, most urgent first: the versions requested by the policies and by
 * sessions waiting there.
 */
export function desiredOn(
  node: FillNode | undefined,
  policies: readonly DesiredContent[],
  caches: readonly GameCache[],
  sessions: readonly GameSession[],
): DesiredContent[] {
  const launches = node ? sessions.flatMap((session) => requestedByLaunch(session, node, caches)) : [];
  return mergeByDigest([...launches, ...policies])
    .slice(0, limits.node.cacheEntriesReported)
    .sort((a, b) => b.priority - a.priority || (a.digest < b.digest ? -1 : 1));
}

/**
 * Returns the source of the version with this digest, current or previous. Undefined if the cache does not
 * name it.
 */
export function sourceOf({ spec }: GameCache, digest: string): ArchiveSource | undefined {
  return [spec.source, ...(spec.previousSources ?? [])].find(({ sha256 }) => sha256 === digest);
}

function isLive({ metadata }: GameCache): boolean {
  return metadata.deletionTimestamp === undefined;
}

function byPolicy({ spec }: GameCache, turn: Turn): DesiredContent[] {
  const { bytesPerSecond } = spec.rollout;
  const want = (source: ArchiveSource, hold: boolean): DesiredContent => ({
    digest: source.sha256,
    source,
    priority: spec.priority,
    pinned: spec.pinned,
    hold,
    ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }),
  });
  // Older versions are kept on nodes that have them and never fetched.
  const older = (spec.previousSources ?? []).slice(0, spec.keepVersions - 1);
  return [want(spec.source, turn.hold), ...older.map((source) => want(source, true))];
}

/**
 * Returns content that stays on a node although its policy does not request it there. It is never fetched for
 * this reason. A pinned game stays because a launch downloaded it there or the node was chosen earlier. A
 * download of an OnDemand game that a launch started continues. Otherwise a download that takes longer than a
 * launch waits would restart with every launch.
 */
function retainedOn(cache: GameCache, node: FillNode): DesiredContent[] {
  const { pinned, placement } = cache.spec;
  if (!pinned && placement.policy !== "OnDemand") return [];
  return byPolicy(cache, { hold: true }).filter(({ digest }) => {
    const state = stateOn(node, digest);
    return (pinned && state === "Ready") || (placement.policy === "OnDemand" && state === "Downloading");
  });
}

/** Returns the games that each node is asked to hold or keep. */
function requestedGames(
  nodes: readonly FillNode[],
  targets: ReadonlyMap<GameCache, readonly FillNode[]>,
): Map<FillNode, GameCache[]> {
  const asked = new Map<FillNode, GameCache[]>(nodes.map((node) => [node, []]));
  for (const [cache, those] of targets) {
    const present = nodes.filter((node) => retainedOn(cache, node).length > 0);
    for (const node of new Set([...those, ...present])) asked.get(node)?.push(cache);
  }
  return asked;
}

/**
 * Requests a session's version only until the node has it. After that the session itself keeps it there, and
 * its end needs no write.
 */
function requestedByLaunch(
  session: GameSession,
  node: FillNode,
  caches: readonly GameCache[],
): DesiredContent[] {
  const { contentDigest, gameCacheRef } = session.spec;
  const isWaiting =
    session.status?.nodeName === node.nodeName &&
    !isFinished(session) &&
    session.status.stoppingAt === undefined &&
    !isPrepared(session);
  if (!isWaiting || stateOn(node, contentDigest) === "Ready") return [];
  const cache = caches.find(
    (candidate) => candidate.metadata.name === gameCacheRef.name && isLive(candidate),
  );
  const source = cache && sourceOf(cache, contentDigest);
  return source
    ? [{ digest: contentDigest, source, priority: launchPriority, pinned: cache.spec.pinned, hold: false }]
    : [];
}

/**
 * Two games may share an archive. The more urgent request wins, and a rate limit applies only if both
 * requests have one.
 */
function mergeByDigest(wanted: readonly DesiredContent[]): DesiredContent[] {
  const merged = new Map<string, DesiredContent>();
  for (const next of wanted) {
    const known = merged.get(next.digest);
    merged.set(next.digest, known ? merge(known, next) : next);
  }
  return [...merged.values()];
}

function merge(a: DesiredContent, b: DesiredContent): DesiredContent {
  const [first, second] = a.priority >= b.priority ? [a, b] : [b, a];
  const { bytesPerSecond, ...rest } = first;
  const rate =
    bytesPerSecond === undefined || second.bytesPerSecond === undefined
      ? undefined
      : Math.max(bytesPerSecond, second.bytesPerSecond);
  return {
    ...rest,
    pinned: a.pinned || b.pinned,
    hold: a.hold && b.hold,
    ...(rate === undefined ? {} : { bytesPerSecond: rate }),
  };
}

/**
 * Orders games by how important it is to list them on a node. Pinned games must not be evicted, so they come
 * before games of a higher priority.
 */
function compareUrgency({ spec: a }: GameCache, { spec: b }: GameCache): number {
  return Number(b.pinned) - Number(a.pinned) || b.priority - a.priority;
}

/**
 * Returns the games that do not fit into each node's list, for nodes with too many games. Among equally
 * urgent games each node drops different ones, starting with those that earlier nodes list, so a game is
 * missing everywhere only if all lists together are too short. Ordering uses the games' names, so an upload
 * never drops a game from a list.
 */
function findOmittedGames(asked: ReadonlyMap<FillNode, readonly GameCache[]>): Map<FillNode, Set<GameCache>> {
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
