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

/** Returns the message about the session's save; undefined if it is stored. */
export function saveNoticeOf({ status }: GameSession, isPlayed: boolean): string | undefined {
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
