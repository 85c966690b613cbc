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

/** The next step of a session on its node. */
export type StepName =
  /** Fetch the game and order the restore of the save. */
  | "prepare"
  /** Store the newest pack if one is due, and check again later. */
  | "keepStored"
  /** Wait for the pod to start or end, which triggers an event. */
  | "wait"
  /** Store the last pack. */
  | "storeLast"
  /** Report that the packer's files cannot be read, and set them aside at the end. */
  | "refuseSpool"
  /** Report that there is no save, because nothing was ever prepared. */
  | "reportNothing"
  /**
   * Do nothing: the game was played, but its folder is not here. The agent that has the folder stores the
   * save.
   */
  | "leaveAlone"
  /** Everything is stored and reported: remove the folder when the session is finished. */
  | "settle"
  /** Check with the API server whether the session left this node or the cluster. */
  | "resolveAbsence"
  | "nothing";

/** Returns the next step, decided from the observed state alone. */
export function stepFor(world: SessionWorld): StepName {
  const { session, record, unreadable } = world;
  if (session === undefined) return record === undefined ? "nothing" : "resolveAbsence";
  if (record === undefined && isFinished(session)) return "nothing";
  // The session had a folder when it became ready. If the folder is missing, the root has changed or somebody
  // has edited the status, and the saved state is unknown here. The pod has the former folder mounted and
  // would not see a new one.
  if (record === undefined && wasReady(session)) return "leaveAlone";
  const isOver = isFinished(session) || isEnding(session) || hasGameEnded(world);
  if (unreadable !== undefined && record !== undefined && record.outcome === undefined) return "refuseSpool";
  return isOver ? endingStep(session, world) : playingStep(session, world);
}

function playingStep(session: GameSession, { pod, record, isOrdered }: SessionWorld): StepName {
  // The pod may exist first, with a running container: its game waits for the save directory.
  if (record === undefined || !isOrdered || !isPrepared(session)) return "prepare";
  return pod !== undefined && isGameRunning(pod) ? "keepStored" : "prepare";
}

function endingStep(session: GameSession, world: SessionWorld): StepName {
  const { pod, record, spool } = world;
  // The packer reports that it is done before the kubelet reports that the pod has ended.
  if (pod !== undefined && mayStillPack(pod) && spool.manifest?.final !== true)
    return spool.manifest !== undefined && isGameRunning(pod) ? "keepStored" : "wait";
  if (record?.outcome !== undefined) return "settle";
  if (record === undefined) return "reportNothing";
  if (spool.manifest !== undefined) return "storeLast";
  return mayHavePlayed(world) ? "storeLast" : "reportNothing";
}

/**
 * A game starts when its save directory exists, which the packer reports. A session that was ready has been
 * played even if the report is lost.
 */
function mayHavePlayed({ session, spool: { report } }: SessionWorld): boolean {
  return report === undefined ? session !== undefined && wasReady(session) : report.refused === undefined;
}

/**
 * Returns whether the game exited or its pod was removed. A pod that the kubelet refused shows no container,
 * whether or not its game has run. Another pod may follow, or the operator ends the session.
 */
function hasGameEnded({ session, pod }: SessionWorld): boolean {
  if (pod === undefined) return session !== undefined && wasReady(session);
  return isGameTerminated(pod) || (hasGameStarted(pod) && !mayStillPack(pod));
}
