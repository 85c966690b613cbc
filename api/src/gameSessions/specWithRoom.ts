import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { sessionShare, type NodeShare } from "#contracts/crd/nodeShare.ts";
import type { ServerLack } from "#contracts/http/errors.ts";
import { limits } from "#contracts/limits.ts";
import { shortageOf, type Shortage } from "../cluster/capacity.ts";
import type { ClusterView } from "../cluster/clusterView.ts";
import { DomainError } from "../errors.ts";
import type { LaunchContext, UnseenSession } from "./launchQueries.ts";

const noOverhead = { cpuMillicores: 0, memoryBytes: 0 };

/** Sessions that the cluster has, or is about to have. */
type KnownSessions = Pick<LaunchContext, "activeSessions" | "unseenSessions">;

/**
 * Returns the spec for which the cluster has room. That is `advised`, which follows from what the game used
 * before; where no node is large enough for it, it is `unadvised`, which requests as much as a game that
 * nobody has played. Throws no_servers when all slots are taken, or no node has the memory or processors.
 */
export function specWithRoom(
  cluster: ClusterView,
  sessions: KnownSessions,
  advised: GameSessionSpec,
  unadvised: () => GameSessionSpec,
): GameSessionSpec {
  if (sessions.activeSessions >= cluster.sessionLoads.offeredSlots(cluster.gameNodes.cache.list()))
    throw noServers(allTaken);
  const shortage = shortageFor(cluster, sessions, advised);
  if (shortage === undefined) return advised;
  if (!shortage.isTooLarge) throw shortageError(shortage);
  const spec = unadvised();
  const remaining = shortageFor(cluster, sessions, spec);
  if (remaining !== undefined) throw shortageError(remaining);
  return spec;
}

function shortageFor(
  { gameNodes, sessionLoads }: ClusterView,
  { unseenSessions }: KnownSessions,
  spec: GameSessionSpec,
): Shortage | undefined {
  const unseen = unseenSessions.filter(({ id }) => !sessionLoads.has(id)).map(shareOfUnseen);
  const waiting = [...unseen, ...sessionLoads.unplaced()];
  return shortageOf(sessionShare(spec, noOverhead), {
    gameNodes: gameNodes.cache.list(),
    loadOn: (node) => sessionLoads.on(node),
    waiting,
  });
}

function shareOfUnseen({ resources, saveVolumeBytes }: UnseenSession): NodeShare {
  return sessionShare({ resources, saveVolumeBytes }, noOverhead);
}

/**
 * Returns a 503 that may be tried again soon; `lack` says what is missing where not all servers are simply
 * taken.
 */
export function noServers(
  message: string,
  { cause, lack }: { cause?: unknown; lack?: ServerLack } = {},
): DomainError {
  return new DomainError("no_servers", {
    message,
    retryAfterSeconds: limits.gameSession.noServersRetryAfterSeconds,
    cause,
    ...(lack === undefined ? {} : { extra: { lack } }),
  });
}

const allTaken = "All game servers are taken: try again in a moment.";

function shortageError({ lacks, isTooLarge, needed }: Shortage): DomainError {
  if (lacks.includes("slots") && needed.slots === 1) return noServers(allTaken);
  const amounts = {
    slots: `${needed.slots} shares of a GPU`,
    memory: `${Math.ceil(needed.memoryBytes / 2 ** 20)} MiB of memory`,
    processors: `${needed.cpuMillicores / 1000} processors`,
  };
  const amount = lacks.map((lack) => amounts[lack]).join(" and ");
  const message = isTooLarge
    ? `No game server is large enough for this game, which takes ${amount}: this site has to add one.`
    : `No game server has ${amount} left, which this game takes: try again in a moment.`;
  const [lack = "slots"] = lacks;
  return noServers(message, { lack: lack === "slots" ? "gpu" : lack });
}
