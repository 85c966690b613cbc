import type { CacheEntry } from "#contracts/crd/gameNode.ts";
import { limits } from "#contracts/limits.ts";
import { toApiTime } from "#kube/api/object.ts";
import type { Failure } from "./failedVersions.ts";
import type { UnpackedVersion } from "./unpackedVersions.ts";

/** The state of a version that a session waits for. */
export type ContentState =
  | { state: "Ready" }
  | { state: "Queued" | "Downloading"; progressPercent: number }
  | { state: "Failed"; failure: Failure };

/** Returns the GameNode status entry of an unpacked version. */
export function unpackedEntry(
  { digest, bytes, cachedAt, lastUsedMs }: UnpackedVersion,
  inUse: boolean,
): CacheEntry {
  return {
    digest,
    state: "Ready",
    bytes,
    inUse,
    cachedAt: toApiTime(cachedAt),
    lastUsedAt: toApiTime(new Date(lastUsedMs)),
  };
}

/** Returns the GameNode status entry of a version that is wanted but not unpacked yet. */
export function wantedEntry(digest: string, state: ContentState | undefined, inUse: boolean): CacheEntry {
  const base = { digest, bytes: 0, inUse };
  if (state?.state === "Failed")
    return {
      ...base,
      state: "Failed",
      reason: `${state.failure.reason}: ${state.failure.message}`.slice(0, 1024),
    };
  if (state?.state === "Downloading")
    return { ...base, state: "Downloading", progressPercent: state.progressPercent };
  return { ...base, state: "Queued" };
}

/**
 * Returns the versions that fit into a GameNode's status: those in use first, then those that sessions wait
 * for, then those that policies want, then the most recently used. The operator does not know about versions
 * left out. The result is ordered by digest, so that launches do not change the order: the operator compares
 * lists.
 */
export function entriesToReport(
  entries: readonly CacheEntry[],
  isDesired: (digest: string) => boolean,
): CacheEntry[] {
  const rank = ({ inUse, digest }: CacheEntry): number => (inUse ? 0 : isDesired(digest) ? 1 : 2);
  const usedMs = ({ lastUsedAt }: CacheEntry): number =>
    lastUsedAt === undefined ? 0 : Date.parse(lastUsedAt);
  return entries
    .toSorted((left, right) => rank(left) - rank(right) || usedMs(right) - usedMs(left))
    .slice(0, limits.node.cacheEntriesReported)
    .toSorted((left, right) => (left.digest < right.digest ? -1 : 1));
}
