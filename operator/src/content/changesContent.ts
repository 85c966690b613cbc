import { isDeepStrictEqual } from "node:util";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { Change } from "#kube/cache/cache.ts";

/**
 * Returns whether what the node holds, what it shall hold, or its health has changed; a heartbeat alone does
 * not count.
 */
export function changesContent(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return (
    !isDeepStrictEqual(object.spec, previous.spec) ||
    !isDeepStrictEqual(contentOf(object), contentOf(previous)) ||
    object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable
  );
}

/** Leaves out `lastUsedAt` and `inUse`, which change with every session and matter to the node agent only. */
function contentOf({ status }: GameNode): unknown {
  return status?.cache?.entries.map(({ digest, state, progressPercent, cachedAt, reason }) => [
    digest,
    state,
    progressPercent,
    cachedAt,
    reason,
  ]);
}

/**
 * Returns whether the change may give another node its turn to fetch. The progress of a download gives no
 * node its turn.
 */
export function changesFill(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return (
    object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable ||
    !isDeepStrictEqual(statesOf(object), statesOf(previous))
  );
}

/**
 * Returns whether what the cache asks for has changed: its status follows from the nodes, and changes nothing
 * about them.
 */
export function changesPolicy(change: Change<GameCache>): boolean {
  return (
    change.type !== "updated" ||
    change.object.metadata.generation !== change.previous.metadata.generation ||
    change.object.metadata.deletionTimestamp !== change.previous.metadata.deletionTimestamp
  );
}

function statesOf({ status }: GameNode): unknown {
  return status?.cache?.entries.map(({ digest, state }) => [digest, state]);
}
