import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";

/** Messages for a save that is not stored as the player left it: during play and after it. */
interface Notice {
  /** Absent if the reason only occurs at the end. */
  playing?: string;
  /** Absent if nothing is lost. */
  ended?: string;
}

const notStored: Notice = {
  playing: "Your save cannot be stored right now. Earlier saves are kept.",
  ended: "Your latest progress could not be stored. Your last stored save is kept.",
};

const notices: Readonly<Record<string, Notice>> = {
  [saveReasons.saveTooLarge]: {
    playing: "Your save is too large to be stored. Earlier saves are kept, but new progress will be lost.",
    ended:
      "Your latest progress could not be stored because the save is too large. Your last stored save is kept.",
  },
  [saveReasons.saveMissing]: {
    playing: "The game has deleted its save folder. Earlier saves are kept.",
    ended: "The game deleted its save folder. Your last stored save is kept.",
  },
  [saveReasons.saveUnreadable]: notStored,
  [saveReasons.spoolUnreadable]: notStored,
  [saveReasons.spoolFull]: notStored,
  [saveReasons.spoolFailed]: notStored,
  [saveReasons.nothingToSave]: {
    playing: "The game has not saved anything yet.",
  },
  [saveReasons.lastAutosave]: {
    ended: "The game server stopped unexpectedly. Your progress up to a few seconds before is kept.",
  },
};

/** For a save that is stored. */
const killedNotice = "The game had to be ended by force. Its last save may be incomplete.";
const fullNotice = "The save folder was full during the session, so the game may not have saved everything.";

/** Returns the message about the session's save; undefined if it is stored as the game left it. */
export function saveNoticeOf(gameSession: GameSession, isPlayed: boolean): string | undefined {
  const notice = conditionNoticeOf(gameSession, isPlayed);
  if (notice !== undefined || isPlayed) return notice;
  if (isSaveSuspect(gameSession)) return killedNotice;
  return gameSession.status?.gameEnd?.fullFolders?.includes("Home") === true ? fullNotice : undefined;
}

/**
 * Returns whether the session's last save may be incomplete: its game was killed, and had changed its saves
 * in the session.
 */
export function isSaveSuspect({ status }: GameSession): boolean {
  return status?.gameEnd?.endedBy === "Sigkill" && status.save !== undefined;
}

function conditionNoticeOf({ status }: GameSession, isPlayed: boolean): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "SavePersisted");
  // After the game ended, this reason does not concern the player.
  if (
    condition === undefined ||
    (condition.reason === saveReasons.nothingToSave && condition.status === "True")
  )
    return undefined;
  const notice = notices[condition.reason];
  return isPlayed ? notice?.playing : notice?.ended;
}
