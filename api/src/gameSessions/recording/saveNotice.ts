import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";

/**
 * What the player is told of a save that is not kept as they left it: while the game is played, and after it.
 */
interface Notice {
  /** Absent where the reason only exists at the end. */
  playing?: string;
  /** Absent where nothing is lost by it. */
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

/**
 * Returns what the player has to know of the session's save, when it is not kept as it is; undefined when all
 * is well.
 */
export function saveNoticeOf({ status }: GameSession, isPlayed: boolean): string | undefined {
  const condition = status?.conditions?.find(({ type }) => type === "SavePersisted");
  // Of a game that is over, whose session is not quite yet, this is no answer to anybody.
  if (
    condition === undefined ||
    (condition.reason === saveReasons.nothingToSave && condition.status === "True")
  )
    return undefined;
  const notice = notices[condition.reason];
  return isPlayed ? notice?.playing : notice?.ended;
}
