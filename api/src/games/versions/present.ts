import type { GameVersion, GameVersionsResponse } from "#contracts/http/gameVersions.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import { presentVersionVerification } from "../verification/present.ts";
import type { ListedVersion } from "./versionQueries.ts";

/** Returns the versions of a game as their partner sees them. */
export function presentVersions(
  versions: readonly ListedVersion[],
  kept: number,
  cluster: ClusterView,
): GameVersionsResponse {
  return { versions: versions.map((version) => presentVersion(version, cluster)), kept };
}

/** Returns one version as its partner sees it. */
export function presentVersion(
  { sha256, sizeBytes, unpackedSizeBytes, createdAt, verificationState, ...version }: ListedVersion,
  { gameNodes }: ClusterView,
): GameVersion {
  const holders = gameNodes.cache
    .list()
    .filter(({ status }) =>
      status?.cache?.entries.some(({ digest, state }) => digest === sha256 && state === "Ready"),
    );
  return {
    ...version,
    checksum: `sha256:${sha256}`,
    size: sizeBytes,
    unpackedSize: unpackedSizeBytes,
    uploadedAt: createdAt.toISOString(),
    cachedOn: holders.length,
    verification: presentVersionVerification(verificationState),
  };
}
