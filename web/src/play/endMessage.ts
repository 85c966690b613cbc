import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { SaveSlotHistory } from "#contracts/http/saves.ts";
import type { SlotChoice } from "../launch/playPath.ts";
import { t } from "../i18n.ts";

type EndedGameSession = Pick<
  GameSessionStatusResponse,
  "status" | "endReason" | "message" | "saveNotice" | "gameError"
>;

interface EndMessage {
  title: string;
  text: string;
}

/** Returns why a session ended, as a title and a sentence for the player. */
export function describeEnd(session: EndedGameSession): EndMessage {
  const { status, endReason, message, saveNotice, gameError } = session;
  if (gameError !== undefined)
    return {
      title: t("play:ended.gameError.title"),
      text: [message, saveNotice].filter((part) => part !== undefined).join(" "),
    };
  if (status === "error" && endReason !== "game_unavailable")
    return { title: t("play:ended.error.title"), text: message ?? t("play:ended.error.text") };
  return describeReason(session);
}

function describeReason({ endReason, message, saveNotice }: EndedGameSession): EndMessage {
  const saved = saveNotice ?? t("play:ended.saved");
  switch (endReason) {
    case "idle_timeout":
    case "max_duration":
    case "maintenance":
    case "drained":
    case "play_limit":
    case "game_exited":
      return {
        title: t(`play:ended.${endReason}.title`),
        text: t(`play:ended.${endReason}.text`, { saved }),
      };
    case "deleted":
      return { title: t("play:ended.deleted.title"), text: saveNotice ?? message ?? saved };
    case "queue_timeout":
    case "game_unavailable":
    case "server_lost":
    case "failed":
      return {
        title: t(`play:ended.${endReason}.title`),
        text: saveNotice ?? message ?? t(`play:ended.${endReason}.text`),
      };
    default:
      return { title: t("play:ended.other.title"), text: saveNotice ?? message ?? saved };
  }
}

/** Returns what a player can tell the developer about the game's failure; undefined if it did not fail. */
export function describeGameError({
  sessionId,
  gameTitle,
  startedAt,
  gameError,
}: Pick<GameSessionStatusResponse, "sessionId" | "gameTitle" | "startedAt" | "gameError">):
  | string
  | undefined {
  if (gameError === undefined) return undefined;
  const { exitCode, signal } = gameError;
  const code = signal === undefined ? String(exitCode) : `${String(exitCode)} (${signal})`;
  return [
    gameTitle,
    ...(exitCode === undefined ? [] : [t("play:ended.gameError.exitCode", { code })]),
    t("play:ended.gameError.session", { sessionId, startedAt }),
  ].join(", ");
}

/** Returns the slot that another launch continues; undefined if it starts in an empty one. */
export function slotToContinue<Slot extends Pick<SaveSlotHistory, "id" | "lastPlayedAt">>(
  slots: readonly Slot[],
  { saveSlotId, fresh }: SlotChoice,
): Slot | undefined {
  if (fresh === true) return undefined;
  if (saveSlotId !== undefined) return slots.find(({ id }) => id === saveSlotId);
  return slots
    .filter(({ id }) => id !== null)
    .toSorted((a, b) => (b.lastPlayedAt ?? "").localeCompare(a.lastPlayedAt ?? ""))[0];
}
