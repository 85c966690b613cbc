import type { GameSession } from "#contracts/crd/gameSession.ts";
import { conditionStatus } from "#contracts/crd/publicStatus.ts";
import type { Pod } from "#kube/builtin.ts";
import type { Stored } from "#kube/object.ts";
import type { SessionRecord } from "./record.ts";

/** Name of the container that runs the game, in every session's pod. */
const gameContainer = "game";

/** All that is observed about one session in a pass. */
export interface SessionWorld {
  /** Undefined when it is gone from the cluster or was placed on another node. */
  session: Stored<GameSession> | undefined;
  pod: Stored<Pod> | undefined;
  /** What is on disk. */
  record: SessionRecord | undefined;
  isPrepared: boolean;
}

/** Whether somebody wants the session to end, or it has. */
export function isEnding({ spec, status, metadata }: GameSession): boolean {
  return spec.desiredState === "Stopped" || metadata.deletionTimestamp !== undefined || status?.stoppingAt !== undefined;
}

/** Whether the operator has called the session over. */
export function isFinished(session: GameSession): boolean {
  return conditionStatus(session, "Finished") === "True";
}

/** Whether the session's conditions say that its game may start. */
export function isSaidReady(session: GameSession): boolean {
  return conditionStatus(session, "ContentReady") === "True" && conditionStatus(session, "SaveRestored") === "True";
}

/** Whether the pod can still write to the save directory. */
export function mayWrite(pod: Pod): boolean {
  const { phase, containerStatuses } = pod.status ?? {};
  if (phase === "Succeeded" || phase === "Failed") return false;
  // A pod that was never bound to a node has no kubelet that could start it.
  if (pod.spec?.nodeName === undefined) return false;
  return containerStatuses?.find(({ name }) => name === gameContainer)?.state?.terminated === undefined;
}

/** Whether the kubelet has made the game's container. */
export function hasGameStarted(pod: Pod): boolean {
  const { state, lastState } = pod.status?.containerStatuses?.find(({ name }) => name === gameContainer) ?? {};
  return [state?.running, state?.terminated, lastState?.terminated].some((time) => time !== undefined);
}

/** Whether the game's container runs now. */
export function isGameRunning(pod: Pod): boolean {
  return pod.status?.containerStatuses?.find(({ name }) => name === gameContainer)?.state?.running !== undefined;
}
