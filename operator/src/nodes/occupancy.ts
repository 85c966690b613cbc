import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionConditions.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { hostPortsOf } from "../sessionPods/podState.ts";

/** Returns whether a session that has ended on the node may have left a save there that its agent has yet to store. */
export function hasPendingSave(cluster: Cluster, nodeName: string): boolean {
  return cluster.gameSessions.byIndex("node", nodeName).some(isSavePending);
}

/** Returns the media ports of the node that live sessions and pods have, or that a finished session had less than the quarantine ago. */
export function portsOn(cluster: Cluster, nodeName: string, quarantine: { now: Date; ms: number }): Set<number> {
  const ofSessions = cluster.gameSessions.byIndex("node", nodeName)
    .flatMap((session) => (session.status?.ports && holdsPort(session, quarantine) ? [session.status.ports.media] : []));
  return new Set([...ofSessions, ...cluster.pods.byIndex("node", nodeName).flatMap(hostPortsOf)]);
}

/** Holds the port for a while after the end: stale connection tracking on the node could lead a new session's packets to the old pod. */
function holdsPort(session: GameSession, { now, ms }: { now: Date; ms: number }): boolean {
  const finishedAt = session.status?.finishedAt;
  return !isFinished(session) || (finishedAt !== undefined && now.getTime() - Date.parse(finishedAt) < ms);
}
