import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";

type EndedGameSession = Pick<GameSessionStatusResponse, "status" | "endReason" | "message" | "saveNotice">;

/** Returns why a session ended, as a headline and a sentence for the player. */
export function endMessageOf({ status, endReason, message, saveNotice }: EndedGameSession): {
  title: string;
  text: string;
} {
  if (status === "error")
    return {
      title: "The game did not start",
      text: message ?? "Something went wrong while it was being launched. Your saves are untouched.",
    };
  const saved = saveNotice ?? "Your progress is saved.";
  switch (endReason) {
    case "idle_timeout":
      return {
        title: "Ended while you were away",
        text: `Nobody played for a while, so we made room for others. ${saved}`,
      };
    case "max_duration":
      return {
        title: "Time for a break",
        text: `This session reached the longest time a game can run. ${saved}`,
      };
    case "game_exited":
      return { title: "The game has ended", text: `It closed by itself. ${saved}` };
    case "deleted":
      return { title: "Ended by an administrator", text: saveNotice ?? message ?? saved };
    case "server_lost":
      return {
        title: "The server was lost",
        text:
          saveNotice ?? message ?? "The machine that ran the game went away. Your last stored save is kept.",
      };
    case "failed":
      return {
        title: "The game broke off",
        text: saveNotice ?? message ?? "Something went wrong on the server. Your last stored save is kept.",
      };
    default:
      return { title: "See you soon", text: saveNotice ?? message ?? saved };
  }
}
