import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished, isPrepared, wasReady } from "#contracts/crd/sessionState.ts";
import {
  hasGameStarted,
  isEnding,
  isGameRunning,
  isGameTerminated,
  mayStillPack,
  type SessionWorld,
} from "./world.ts";

/** What a session needs of its node next. */
export type StepName =
  /** Fetch the game, order the restore of the save. */
  | "prepare"
  /** Store the newest pack, when one is due, and look again later. */
  | "keepStored"
  /** The pod has yet to start, or to end: an event will come. */
  | "wait"
  /** Store the last pack. */
  | "storeLast"
  /** Say that what the packer left cannot be read; set it aside at the end. */
  | "refuseSpool"
  /** Say that there is no save, as nothing was ever prepared. */
  | "reportNothing"
  /** The game was played, and its folder is not here: whoever has the folder stores the save. */
  | "leaveAlone"
  /** All is stored and reported: give the folder up when the session is finished. */
  | "settle"
  /** The session left this node or the cluster: see which, with a fresh look. */
  | "resolveAbsence"
  | "nothing";

/** Returns the next step, decided from the observed state alone. */
export function stepFor(world: SessionWorld): StepName {
  const { session, record, unreadable } = world;
  if (session === undefined) return record === undefined ? "nothing" : "resolveAbsence";
  if (record === undefined && isFinished(session)) return "nothing";
  // It had a folder when it became ready. Where that is missing the root has changed, or somebody has edited
  // the status: what was saved is unknown here. Its pod has the former folder, and would not see a new one.
  if (record === undefined && wasReady(session)) return "leaveAlone";
  const isOver = isFinished(session) || isEnding(session) || hasGameEnded(world);
  if (unreadable !== undefined && record !== undefined && record.outcome === undefined) return "refuseSpool";
  return isOver ? endingStep(session, world) : playingStep(session, world);
}

function playingStep(session: GameSession, { pod, record, isOrdered }: SessionWorld): StepName {
  // The pod may be there first, and its container run: the game in it waits for the save directory.
  if (record === undefined || !isOrdered || !isPrepared(session)) return "prepare";
  return pod !== undefined && isGameRunning(pod) ? "keepStored" : "prepare";
}

function endingStep(session: GameSession, world: SessionWorld): StepName {
  const { pod, record, spool } = world;
  // The packer's word that it is done comes before the kubelet's that the pod is.
  if (pod !== undefined && mayStillPack(pod) && spool.manifest?.final !== true)
    return spool.manifest !== undefined && isGameRunning(pod) ? "keepStored" : "wait";
  if (record?.outcome !== undefined) return "settle";
  if (record === undefined) return "reportNothing";
  if (spool.manifest !== undefined) return "storeLast";
  return mayHavePlayed(world) ? "storeLast" : "reportNothing";
}

/**
 * A game starts when its save directory is there, which the packer reports. A session that was ready has been
 * played, though the report is lost.
 */
function mayHavePlayed({ session, spool: { report } }: SessionWorld): boolean {
  return report === undefined ? session !== undefined && wasReady(session) : report.refused === undefined;
}

/**
 * The game ended by itself, or its pod was taken away. A pod that the kubelet refused shows no container,
 * whether or not its game has run: another one may follow, or the operator ends the session.
 */
function hasGameEnded({ session, pod }: SessionWorld): boolean {
  if (pod === undefined) return session !== undefined && wasReady(session);
  return isGameTerminated(pod) || (hasGameStarted(pod) && !mayStillPack(pod));
}
