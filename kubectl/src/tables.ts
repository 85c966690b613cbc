import type { GameCache } from "#contracts/crd/gameCache.ts";
import { gameNodeChecks, type GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import type { Lease } from "#kube/api/builtin.ts";
import { ageText, bytesText } from "./output.ts";
import { table } from "#runtime/textTable.ts";

/** Returns a table of game nodes, with the reason if a node accepts no sessions. */
export function nodeTable(nodes: readonly GameNode[], leases: readonly Lease[], now: Date): string {
  const renewals = new Map(leases.map(({ metadata, spec }) => [metadata.name, spec?.renewTime]));
  const rows = nodes.map((node) => {
    const { capacity, cache, heartbeat, addresses } = node.status ?? {};
    return [
      node.metadata.name,
      capacity === undefined ? undefined : capacity.schedulable ? "yes" : "NO",
      capacity && `${capacity.used}/${capacity.slots}`,
      cache && `${bytesText(cache.freeBytes)} of ${bytesText(cache.capacityBytes)}`,
      cache?.entries.filter(({ state }) => state === "Ready").length,
      addresses?.external ?? addresses?.internal,
      ageText(laterOf(renewals.get(node.metadata.name), heartbeat?.renewedAt), now),
      heartbeat?.agentVersion,
      reasonOf(node),
    ];
  });
  return rows.length === 0
    ? "There are no game nodes. Label a node to match the chart value gameNodes.selector."
    : table(
        ["NODE", "OPEN", "SLOTS", "CACHE FREE", "GAMES", "ADDRESS", "HEARTBEAT", "AGENT", "REASON"],
        rows,
      );
}

/** Returns the later time. Agents without a Lease report a heartbeat in the status. */
function laterOf(renewed: string | undefined, reported: string | undefined): string | undefined {
  return [renewed, reported]
    .flatMap((time) => time ?? [])
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);
}

/** Conditions that are healthy when they are True. All others are healthy when they are False. */
const healthyWhenTrue: ReadonlySet<string> = new Set([
  "Ready",
  "StoreReachable",
  "Reachable",
  "Filled",
  ...gameNodeChecks,
]);

function reasonOf({ status }: GameNode): string | undefined {
  const faults = (status?.conditions ?? []).filter(
    ({ type, status: is }) => is === (healthyWhenTrue.has(type) ? "False" : "True"),
  );
  if (faults.length > 0)
    return faults
      .map(
        ({ type, reason, message }) =>
          `${healthyWhenTrue.has(type) ? `not ${type}` : type} (${reason})${message === "" ? "" : ` ${message}`}`,
      )
      .join("; ");
  if (status?.capacity?.schedulable !== false) return undefined;
  return status.capacity.unschedulable?.message ?? "cordoned or tainted";
}

/** Returns a table of the games that have an archive, with their sizes, nodes and numbers of players. */
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
    ? "No game has an archive. A partner must upload one."
    : table(["GAME", "VERSION", "ARCHIVE", "UNPACKED", "POLICY", "CACHED", "PLAYERS", "REASON"], rows);
}

/** Returns a table of the games on each node. */
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
        names.get(digest) ?? "(removed game)",
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
    : table(["NODE", "GAME", "VERSION", "STATE", "SIZE", "AGE", "USED", "REASON"], rows);
}
