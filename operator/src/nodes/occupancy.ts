import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { hostPortsOf } from "../sessionPods/podState.ts";

/** Returns whether a finished session on the node may have left a save that the agent has not stored yet. */
export function hasPendingSave(cluster: Cluster, nodeName: string): boolean {
  return cluster.gameSessions.byIndex("node", nodeName).some(isSavePending);
}

/**
 * Returns the node's media ports in use by live sessions and pods, or not yet released by a finished session.
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
