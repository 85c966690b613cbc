import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { ageText, bytesText } from "./output/quantities.ts";
import { table } from "./output/table.ts";

/**
 * Returns the games that have an archive as a table: how big they are, where they are, and how many play
 * them.
 */
export function gameTable(caches: readonly GameCache[], sessions: readonly GameSession[]): string {
  const rows = caches.map(({ metadata: { name }, spec, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    const played = sessions.filter(
      (session) => session.spec.gameCacheRef.name === name && !isFinished(session),
    ).length;
    return [
      name,
      spec.source.sha256.slice(0, 12),
      bytesText(spec.source.sizeBytes),
      bytesText(spec.source.unpackedSizeBytes),
      spec.placement.policy,
      `${status?.cachedNodes ?? 0}/${status?.totalNodes ?? 0}`,
      played,
      ready === undefined || ready.status === "True" ? undefined : ready.message || ready.reason,
    ];
  });
  return rows.length === 0
    ? "No game has an archive: a partner uploads one."
    : table(["GAME", "VERSION", "ARCHIVE", "UNPACKED", "POLICY", "CACHED", "PLAYED", "WHY NOT READY"], rows);
}

/** Returns what each node holds as a table, by node. */
export function cacheTable(nodes: readonly GameNode[], caches: readonly GameCache[], now: Date): string {
  const names = new Map(
    caches.flatMap(
      ({ metadata: { name }, spec }) =>
        [
          [spec.source.sha256, name],
          ...(spec.previousSources ?? []).map(({ sha256 }) => [sha256, `${name} (older)`]),
        ] as [string, string][],
    ),
  );
  const rows = nodes.flatMap(({ metadata, status }) =>
    (status?.cache?.entries ?? []).map(
      ({ digest, state, bytes, progressPercent, cachedAt, lastUsedAt, inUse, reason }) => [
        metadata.name,
        names.get(digest) ?? "no game's any more",
        digest.slice(0, 12),
        progressPercent === undefined || state === "Ready" ? state : `${state} ${progressPercent} %`,
        bytesText(bytes),
        ageText(cachedAt, now),
        inUse ? "now" : ageText(lastUsedAt, now),
        reason,
      ],
    ),
  );
  return rows.length === 0
    ? "No node holds a game."
    : table(["NODE", "GAME", "VERSION", "STATE", "BYTES", "AGE", "USED", "WHY"], rows);
}
