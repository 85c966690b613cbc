import { isUnreadableSaveReason } from "#contracts/crd/gameSession.ts";
import { StopReason } from "#contracts/crd/gameSessionSpec.ts";
import type { GameSessionEndReason } from "#contracts/http/gameSessions.ts";

/** How a stop reason of the cluster appears to the player. */
interface PublicStopText {
  endReason: GameSessionEndReason;
  /**
   * Sentences for an end before the game could be played, and for one while it was; none when the player
   * wished to end what they played.
   */
  messages: { starting?: string; running?: string };
}

const publicStopTexts: Record<StopReason, PublicStopText> = {
  UserRequested: {
    endReason: "user_requested",
    messages: { starting: "The launch was cancelled; your saves are as they were." },
  },
  IdleTimeout: {
    endReason: "idle_timeout",
    messages: { running: "The session was stopped because nobody was there; your progress is saved." },
  },
  MaxDuration: {
    endReason: "max_duration",
    messages: { running: "The session has reached its longest time; your progress is saved." },
  },
  Deleted: {
    endReason: "deleted",
    messages: {
      starting: "The session was stopped by the operator of this site; try again later.",
      running: "The session was stopped by the operator of this site; your progress is saved.",
    },
  },
  GameExited: {
    endReason: "game_exited",
    messages: {
      starting: "The game ended before it could be shown.",
      running: "The game has ended; your progress is saved.",
    },
  },
  NodeLost: {
    endReason: "server_lost",
    messages: {
      starting: "The game server was lost while the game started; try again.",
      running: "The game server was lost; you have the progress of the last automatic save.",
    },
  },
  Failed: {
    endReason: "failed",
    messages: {
      starting: "The game could not be started; try again in a moment.",
      running: "The game has stopped working; you have the progress of the last save.",
    },
  },
};

const unreadableMessage =
  "The save of this slot is missing or damaged: restore the version before it on the game's page.";

/** An end as the player sees it. */
export interface PublicEnd {
  endReason: GameSessionEndReason;
  message?: string;
}

/**
 * Returns how a stop reason, and the failure behind it, appear to the player; undefined when there is none
 * yet.
 */
export function publicEndOf(
  stopReason: string | null,
  wasReady: boolean,
  failureReason: string | null = null,
): PublicEnd | undefined {
  const reason = StopReason.safeParse(stopReason).data;
  if (reason === undefined) return undefined;
  const { endReason, messages } = publicStopTexts[reason];
  const isSaveBad = !wasReady && failureReason !== null && isUnreadableSaveReason(failureReason);
  const message = isSaveBad ? unreadableMessage : wasReady ? messages.running : messages.starting;
  return { endReason, ...(message === undefined ? {} : { message }) };
}
