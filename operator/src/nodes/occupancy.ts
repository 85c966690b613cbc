import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { hostPortsOf } from "../sessionPods/podState.ts";

/**
 * Returns whether a session that has ended on the node may have left a save there that its agent has yet to
 * store.
 */
export function hasPendingSave(cluster: Cluster, nodeName: string): boolean {
  return cluster.gameSessions.byIndex("node", nodeName).some(isSavePending);
}

/**
 * Returns the media ports of the node that live sessions and pods have, or that a finished session is yet to
 * let go.
 */
export function portsOn(
  cluster: Cluster,
  nodeName: string,
  isInQuarantine: (session: Stored<GameSession>) => boolean,
): Set<number> {
  const ofSessions = cluster.gameSessions
    .byIndex("node", nodeName)
    .flatMap((session) =>
      session.status?.ports && (!isFinished(session) || isInQuarantine(session))
        ? [session.status.ports.media]
        : [],
    );
  return new Set([...ofSessions, ...cluster.pods.byIndex("node", nodeName).flatMap(hostPortsOf)]);
}
