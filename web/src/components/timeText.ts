import { sentenceForSignIn } from "#contracts/http/auth.ts";
import type { GameSessionStatusResponse, LaunchStage } from "#contracts/http/gameSessions.ts";

/** What each stage of a launch is called while it goes on. */
export const stageTitles: Record<LaunchStage, string> = {
  scheduling: "Finding a server",
  downloading: "Getting the game ready",
  restoring: "Restoring your save",
  booting: "Starting the game",
  connecting: "Connecting the stream",
};

/** Why a session ended, as a headline and a sentence. */
export function endingOf({ status, endReason, message, saveNotice }: Pick<GameSessionStatusResponse, "status" | "endReason" | "message" | "saveNotice">): { title: string; text: string } {
  if (status === "error") return { title: "The game did not start", text: message ?? "Something went wrong while it was being launched. Your saves are untouched." };
  const saved = saveNotice ?? "Your progress is saved.";
  switch (endReason) {
    case "idle_timeout": return { title: "Ended while you were away", text: `Nobody played for a while, so we made room for others. ${saved}` };
    case "max_duration": return { title: "Time for a break", text: `This session reached the longest time a game can run. ${saved}` };
    case "game_exited": return { title: "The game has ended", text: `It closed by itself. ${saved}` };
    case "deleted": return { title: "Ended by an administrator", text: saveNotice ?? message ?? saved };
    case "server_lost": return { title: "The server was lost", text: saveNotice ?? message ?? "The machine that ran the game went away. Your last stored save is kept." };
    case "failed": return { title: "The game broke off", text: saveNotice ?? message ?? "Something went wrong on the server. Your last stored save is kept." };
    default: return { title: "See you soon", text: saved };
  }
}

/** Why a provider's account was not linked, by the `error` that a visit to the provider ended with. */
export function sentenceForLinking(error: string): string {
  if (error === "OAuthAccountNotLinked") return "That account signs in to another player's account already, so it cannot be linked to yours.";
  if (error === "SessionRequired") return "You were signed out, or somebody else was signed in, while you were there. Please try again.";
  return sentenceForSignIn(error, null);
}

/** `just now`, `5 minutes ago`, `3 days ago`, then the date. */
export function timeAgo(moment: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1_000);
  if (seconds < 60) return "just now";
  const format = new Intl.RelativeTimeFormat("en", { numeric: "always" });
  if (seconds < 3_600) return format.format(-Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return format.format(-Math.floor(seconds / 3_600), "hour");
  if (seconds < 14 * 86_400) return format.format(-Math.floor(seconds / 86_400), "day");
  return new Date(moment).toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" });
}

/** `1 h 5 min`, `5 min 3 s`, `3 s`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor((whole % 3_600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/** `4:05`, for a countdown; never below zero. */
export function countdownText(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** `YYYY-MM-DD` as people write it; empty for anything else. */
export function dateText(date: string): string {
  const time = Date.parse(date);
  return Number.isNaN(time) ? "" : new Date(time).toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
}

/** Language tags as names, such as `English`; a tag nobody knows stays as it is. */
export function languageNames(tags: readonly string[]): string {
  const names = new Intl.DisplayNames("en", { type: "language", fallback: "code" });
  return tags.map((tag) => {
    try {
      return names.of(tag) ?? tag;
    } catch {
      return tag; // Not a well-formed tag.
    }
  }).join(", ");
}
