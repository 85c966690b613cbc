import { isDeepStrictEqual } from "node:util";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { Change } from "#kube/cache.ts";

/** Returns whether what the node holds, what it shall hold, or its health has changed; a heartbeat alone does not count. */
export function changesContent(change: Change<GameNode>): boolean {
  if (change.type !== "updated") return true;
  const { object, previous } = change;
  return !isDeepStrictEqual(object.spec, previous.spec)
    || !isDeepStrictEqual(contentOf(object), contentOf(previous))
    || object.status?.capacity?.schedulable !== previous.status?.capacity?.schedulable;
}

/** Leaves out `lastUsedAt` and `inUse`, which change with every session and matter to the node agent only. */
function contentOf({ status }: GameNode): unknown {
  return status?.cache?.entries.map(({ digest, state, progressPercent, cachedAt, reason }) => [digest, state, progressPercent, cachedAt, reason]);
}
