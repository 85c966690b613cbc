import { StopReason } from "#contracts/crd/gameSession.ts";
import type { GameSessionEndReason } from "#contracts/http/gameSessions.ts";

/** How an end is told: the interface's word, and a sentence when it was not the player's own wish. */
interface Telling {
  word: GameSessionEndReason;
  /** When it came before the game could be played, and while it was. */
  starting?: string;
  running?: string;
}

const tellings: Record<StopReason, Telling> = {
  UserRequested: { word: "user_requested" },
  IdleTimeout: {
    word: "idle_timeout",
    running: "The session was stopped because nobody was there; your progress is saved.",
  },
  MaxDuration: { word: "max_duration", running: "The session has reached its longest time; your progress is saved." },
  Deleted: {
    word: "deleted",
    starting: "The session was stopped by the operator of this site; try again later.",
    running: "The session was stopped by the operator of this site; your progress is saved.",
  },
  GameExited: {
    word: "game_exited",
    starting: "The game ended before it could be shown.",
    running: "The game has ended; your progress is saved.",
  },
  NodeLost: {
    word: "server_lost",
    starting: "The game server was lost while the game started; try again.",
    running: "The game server was lost; you have the progress of the last automatic save.",
  },
  Failed: {
    word: "failed",
    starting: "The game could not be started; try again in a moment.",
    running: "The game has stopped working; you have the progress of the last save.",
  },
};

/** What a player is told of an end. */
export interface PublicEnd {
  endReason: GameSessionEndReason;
  message?: string;
}

/** Explains an end to the player by its StopReason; undefined when there is no reason yet. */
export function publicEndOf(stopReason: string | null, wasReady: boolean): PublicEnd | undefined {
  const reason = StopReason.safeParse(stopReason).data;
  if (reason === undefined) return undefined;
  const { word, starting, running } = tellings[reason];
  const message = wasReady ? running : starting;
  return { endReason: word, ...(message === undefined ? {} : { message }) };
}
