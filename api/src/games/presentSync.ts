import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { contentReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { PendingServer, SyncResponse } from "#contracts/http/partners.ts";
import { asLine } from "#contracts/http/text.ts";
import { findCondition } from "#kube/api/conditions.ts";
import type { Stored } from "#kube/api/object.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import type { PartnerGame } from "./partnerGameQueries.ts";

/**
 * Returns every game server, `cached` once it has reported the current archive. Reports of other versions do
 * not count, so a new upload is `pending` everywhere as soon as it is accepted.
 */
export function presentSync({ slug, currentVersion }: PartnerGame, cluster: ClusterView): SyncResponse {
  const digest = currentVersion?.sha256;
  const gameCache = cluster.gameCache(slug);
  const states = new Map((gameCache?.status?.nodes ?? []).map((node) => [node.nodeName, node]));
  const servers = cluster.gameNodes.cache
    .list()
    .map((node) => {
      const id = node.metadata.name;
      const known = states.get(id);
      if (known?.state === "Cached" && known.digest === digest)
        return { id, status: "cached" as const, cachedAt: isoOf(known.cachedAt) };
      const pending = pendingOn(node, gameCache, digest);
      return { id, status: "pending" as const, cachedAt: null, pending };
    })
    .sort((left, right) => (left.id < right.id ? -1 : 1));
  const cachedOn = servers.filter(({ status }) => status === "cached").length;
  return { slug, totalServers: servers.length, cachedOn, pendingSync: servers.length - cachedOn, servers };
}

const messages: Record<Exclude<PendingServer["reason"], "archive_refused">, string> = {
  no_version: "The game has no current version.",
  waiting: "The server waits for its turn.",
  downloading: "The server is downloading the archive.",
  suspended: "The admin has suspended the downloads of this game.",
  on_demand: "The server downloads the game when a player launches it there.",
  not_selected:
    "The site keeps the game on other servers. This one downloads it when a player launches it there.",
  server_unavailable: "The server does not report.",
  disk_full: "The server's disk has no room for the game. It tries again.",
  archive_missing: "The archive is missing in the object store. Tell the admin, or upload it again.",
  archive_damaged: "The stored archive is damaged. Tell the admin, or upload it again.",
  store_unavailable: "The server cannot reach the object store. It tries again.",
  download_failed: "The download failed. The server tries again.",
};

const failures: Readonly<Record<string, PendingServer["reason"]>> = {
  [contentReasons.insufficientSpace]: "disk_full",
  [contentReasons.sourceMissing]: "archive_missing",
  [contentReasons.checksumMismatch]: "archive_damaged",
  [contentReasons.archiveRefused]: "archive_refused",
  [contentReasons.storeUnreachable]: "store_unavailable",
};

/** Returns why a server does not have the version. */
function pendingOn(
  { spec, status }: GameNode,
  gameCache: Stored<GameCache> | undefined,
  digest: string | undefined,
): PendingServer {
  if (digest === undefined) return pendingFor("no_version");
  // The cluster learns of a new version within seconds.
  if (gameCache?.spec.source.sha256 !== digest) return pendingFor("waiting");
  if ((findCondition(status?.conditions, "Ready")?.status ?? "True") !== "True")
    return pendingFor("server_unavailable");
  const entry = status?.cache?.entries.find((known) => known.digest === digest);
  if (entry?.state === "Failed") return failureOf(entry.reason ?? "");
  if (entry?.state === "Downloading")
    return { ...pendingFor("downloading"), progressPercent: entry.progressPercent ?? 0 };
  if (entry !== undefined) return pendingFor("waiting");
  const { placement, suspend } = gameCache.spec;
  if (placement.policy === "OnDemand") return pendingFor("on_demand");
  if (suspend) return pendingFor("suspended");
  return pendingFor(spec.desired.some((desired) => desired.digest === digest) ? "waiting" : "not_selected");
}

function pendingFor(reason: keyof typeof messages): PendingServer {
  return { reason, message: messages[reason] };
}

/**
 * Returns the failure from an agent's report, such as `ArchiveRefused: play.sh is a link`. Only that of a
 * refused archive is about the archive; others may name parts of the platform.
 */
function failureOf(report: string): PendingServer {
  const [, reported = "", message = ""] = /^(\w+): (.*)$/s.exec(report) ?? [];
  const reason = failures[reported] ?? "download_failed";
  return reason === "archive_refused" ? { reason, message: asLine(message) } : pendingFor(reason);
}

function isoOf(timestamp: string | undefined): string | null {
  return timestamp === undefined ? null : new Date(timestamp).toISOString();
}
