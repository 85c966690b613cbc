import type { GameNode } from "#contracts/crd/gameNode.ts";
import { finalizers } from "#contracts/crd/names.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";

/**
 * Returns how many sessions of the API the cluster can run: the slots of all schedulable nodes, less the sessions that an admin made by
 * hand. The API's own sessions are counted in the database, which knows of them before the cluster does.
 */
export function offeredSlots(gameNodes: readonly GameNode[], gameSessions: readonly GameSession[]): number {
  const slots = gameNodes
    .map(({ status }) => status?.capacity)
    .reduce((sum, capacity) => sum + (capacity?.schedulable === true ? capacity.slots : 0), 0);
  return slots - gameSessions.filter(isForeign).length;
}

function isForeign(gameSession: GameSession): boolean {
  const isOurs = gameSession.metadata.finalizers?.includes(finalizers.recorder) ?? false;
  const status = publicStatusOf(gameSession);
  // A finished session of ours has lost its finalizer too, but then it holds no slot any more.
  return !isOurs && status !== "stopped" && status !== "error";
}
