import type { CacheEntry } from "#contracts/crd/gameNode.ts";
import { limits } from "#contracts/limits.ts";
import { toApiTime } from "#kube/api/object.ts";
import type { Failure } from "./failedVersions.ts";
import type { UnpackedVersion } from "./unpackedVersions.ts";

/** The state of a version, for a session that waits for it. */
export type ContentState =
  | { state: "Ready" }
  | { state: "Queued" | "Downloading"; progressPercent: number }
  | { state: "Failed"; failure: Failure };

/** Returns a version that is here, as a GameNode's status shows it. */
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

/** Returns a version that is wanted and not here yet, as a GameNode's status shows it. */
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
 * Returns the versions that a GameNode's status has room for: what is in use first, for which sessions wait,
 * then what policies want, then what was used last. Of one that is left out the operator knows nothing. They
 * come in the order of their digests, which no launch changes: the operator compares lists.
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
