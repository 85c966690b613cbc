import { isDeepStrictEqual } from "node:util";
import type { Condition } from "#contracts/crd/kind.ts";
import {
  type GameCache,
  type GameCacheConditionType,
  type GameCacheNodeState,
  type GameCacheStatus,
  cacheProgressReasons,
  cacheReadyReasons,
  cacheStalledReasons,
  type CacheProgressReason,
  type CacheReadyReason,
  type CacheStalledReason,
} from "#contracts/crd/gameCache.ts";
import type { CacheEntry } from "#contracts/crd/gameNode.ts";
import { setCondition } from "#kube/api/conditions.ts";
import { fillOf, type FillNode } from "../../content/fill.ts";

type NodeStatus = NonNullable<GameCacheStatus["nodes"]>[number];

const states: Record<CacheEntry["state"], GameCacheNodeState> = {
  Queued: "Pending",
  Downloading: "Downloading",
  Ready: "Cached",
  Failed: "Failed",
};

/**
 * Maximum length of a node's reason. The GameNode has the full text; a thousand full texts would exceed
 * etcd's object size limit.
 */
const reasonMaxLength = 256;

/**
 * Returns the cache's status, aggregated from its nodes' reports. Nodes that hold the cache without being
 * asked to by policy count too.
 */
export function statusOf(cache: GameCache, gameNodes: readonly FillNode[], now: Date): GameCacheStatus {
  const digest = cache.spec.source.sha256;
  const targets = fillOf(cache, gameNodes);
  const nodes = gameNodes
    .flatMap((node) => {
      const entry = node.entries.find((known) => known.digest === digest);
      return entry || targets.has(node.nodeName) ? [nodeStatus(node.nodeName, digest, entry)] : [];
    })
    .sort((a, b) => (a.nodeName < b.nodeName ? -1 : 1))
    .slice(0, 1000);
  const count = (state: GameCacheNodeState): number => nodes.filter((node) => node.state === state).length;
  const counts = {
    totalNodes: nodes.length,
    cachedNodes: count("Cached"),
    pendingNodes: count("Pending") + count("Downloading"),
    failedNodes: count("Failed"),
  };
  const observedGeneration = cache.metadata.generation ?? 0;
  const conditions = findingsOf(cache, counts).reduce<Condition[]>(
    (known, update) => setCondition<Condition>(known, { ...update, observedGeneration }, now),
    [...(cache.status?.conditions ?? [])],
  );
  // An empty list is omitted, because the API server would drop it on the next change.
  return {
    observedGeneration,
    currentDigest: digest,
    ...counts,
    ...(nodes.length === 0 ? {} : { nodes }),
    conditions,
  };
}

/**
 * Returns how the status differs from the previous one. `progress` means that only download progress differs.
 */
export function differenceOf(
  before: GameCacheStatus | undefined,
  after: GameCacheStatus,
): "none" | "progress" | "major" {
  if (before !== undefined && isDeepStrictEqual(before, after)) return "none";
  return before !== undefined && isDeepStrictEqual(withoutProgress(before), withoutProgress(after))
    ? "progress"
    : "major";
}

function withoutProgress(status: GameCacheStatus): GameCacheStatus {
  const rest = structuredClone(status);
  for (const node of rest.nodes ?? []) delete node.progressPercent;
  return rest;
}

function nodeStatus(nodeName: string, digest: string, entry: CacheEntry | undefined): NodeStatus {
  if (!entry) return { nodeName, state: "Pending", digest };
  const { state, cachedAt, progressPercent, reason } = entry;
  return {
    nodeName,
    state: states[state],
    digest,
    ...(cachedAt === undefined ? {} : { cachedAt }),
    ...(progressPercent === undefined || state !== "Downloading" ? {} : { progressPercent }),
    ...(reason === undefined ? {} : { reason: reason.slice(0, reasonMaxLength) }),
  };
}

interface Counts {
  totalNodes: number;
  cachedNodes: number;
  pendingNodes: number;
  failedNodes: number;
}

/** A condition without its transition time. */
type Finding<T extends GameCacheConditionType, R> = Pick<Condition, "status" | "message"> & {
  type: T;
  reason: R;
};
type Readiness = Finding<"Ready", CacheReadyReason>;
type Progress = Finding<"Progressing", CacheProgressReason>;
type Stall = Finding<"Stalled", CacheStalledReason>;

function findingsOf({ spec }: GameCache, counts: Counts): (Readiness | Progress | Stall)[] {
  const { totalNodes, cachedNodes, pendingNodes, failedNodes } = counts;
  const summary = `${cachedNodes} of ${totalNodes} nodes have the current version.`;
  const isProgressing = pendingNodes > 0 && !spec.suspend;
  return [
    readiness(spec, counts, summary),
    {
      type: "Progressing",
      status: isProgressing ? "True" : "False",
      reason: progressReason(spec, isProgressing, failedNodes),
      message: summary,
    },
    failedNodes > 0 && !isProgressing && !spec.suspend
      ? {
          type: "Stalled",
          status: "True",
          reason: cacheStalledReasons.nodesFailed,
          message: `${summary} ${failedNodes} failed to fetch it.`,
        }
      : { type: "Stalled", status: "False", reason: cacheStalledReasons.noFailure, message: summary },
  ];
}

function progressReason(
  { suspend }: GameCache["spec"],
  isProgressing: boolean,
  failedNodes: number,
): CacheProgressReason {
  if (isProgressing) return cacheProgressReasons.filling;
  if (suspend) return cacheProgressReasons.suspended;
  return failedNodes > 0 ? cacheProgressReasons.nodesFailed : cacheProgressReasons.settled;
}

function readiness(
  { placement }: GameCache["spec"],
  { totalNodes, pendingNodes, failedNodes }: Counts,
  summary: string,
): Readiness {
  const ready = (status: Condition["status"], reason: CacheReadyReason, message: string): Readiness => ({
    type: "Ready",
    status,
    reason,
    message,
  });
  if (failedNodes > 0)
    return ready("False", cacheReadyReasons.nodesFailed, `${summary} ${failedNodes} failed to fetch it.`);
  if (pendingNodes > 0) return ready("False", cacheReadyReasons.filling, summary);
  if (totalNodes > 0) return ready("True", cacheReadyReasons.allNodesCached, summary);
  return placement.policy === "OnDemand"
    ? ready("True", cacheReadyReasons.onDemand, "The game is downloaded to a node when a session needs it.")
    : ready("False", cacheReadyReasons.noGameNodes, "No game node matches the placement.");
}
