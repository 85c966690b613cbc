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
  playing: "Your save cannot be stored just now: what was saved before stays.",
  ended: "Your newest progress could not be stored: you have what was saved before that.",
};

const notices: Readonly<Record<string, Notice>> = {
  [saveReasons.saveTooLarge]: {
    playing:
      "Your save has grown too large to be kept: what was saved before stays, and newer progress will be lost.",
    ended:
      "Your newest progress could not be kept because the save grew too large: you have what was saved before that.",
  },
  [saveReasons.saveMissing]: {
    playing: "The game has removed its save folder: what was saved before stays.",
    ended: "The game had removed its save folder: you have what was saved before that.",
  },
  [saveReasons.saveUnreadable]: notStored,
  [saveReasons.spoolUnreadable]: notStored,
  [saveReasons.spoolFull]: notStored,
  [saveReasons.spoolFailed]: notStored,
  [saveReasons.nothingToSave]: {
    playing: "The game has saved nothing yet, so there is nothing to keep.",
  },
  [saveReasons.lastAutosave]: {
    ended: "The game server ended without notice: you have what was saved some seconds before.",
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
