import type { GameSession } from "#contracts/crd/gameSession.ts";
import { hasGameStarted, isEnding, isFinished, isGameRunning, isSaidReady, mayWrite, type SessionWorld } from "./world.ts";

/** What a session needs of its node next. */
export type SessionStep =
  /** Fetch the game, restore the save. */
  | "prepare"
  /** Store the save when it changed, and look again later. */
  | "keepStored"
  /** The pod has yet to start, or to end: an event will come. */
  | "wait"
  /** Store the last save. */
  | "storeLast"
  /** Say that there is no save, as nothing was ever prepared. */
  | "reportNothing"
  /** All is stored and reported: give the directory up when the session is finished. */
  | "settle"
  /** The session left this node or the cluster: see which, with a fresh look. */
  | "resolveAbsence"
  | "nothing";

/** Decides, from what was observed and nothing else, what comes next. */
export function stepFor(world: SessionWorld): SessionStep {
  const { session, record } = world;
  if (session === undefined) return record === undefined ? "nothing" : "resolveAbsence";
  const isOver = isFinished(session) || isEnding(session) || hasGameEnded(world);
  return isOver ? endingStep(session, world) : playingStep(session, world);
}

function playingStep(session: GameSession, { pod, record, isPrepared }: SessionWorld): SessionStep {
  // The pod may be there first, and its container run: the game in it waits for the directory.
  if (record === undefined || !isPrepared || !isSaidReady(session)) return "prepare";
  return pod !== undefined && isGameRunning(pod) ? "keepStored" : "prepare";
}

function endingStep(session: GameSession, { pod, record, isPrepared }: SessionWorld): SessionStep {
  if (pod !== undefined && mayWrite(pod)) return isPrepared && isGameRunning(pod) ? "keepStored" : "wait";
  if (record?.outcome !== undefined) return "settle";
  if (record === undefined || !isPrepared) return isFinished(session) && record === undefined ? "nothing" : "reportNothing";
  return "storeLast";
}

/** The game ended by itself, or its pod was taken away. A pod that the kubelet refused has had no game: another one may follow. */
function hasGameEnded({ session, pod }: SessionWorld): boolean {
  return pod === undefined ? session?.status?.podRef !== undefined : hasGameStarted(pod) && !mayWrite(pod);
}
