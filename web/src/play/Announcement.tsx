import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { useNow } from "../components/useNow.ts";
import { playWarningSound } from "./warningSound.ts";

/** Shows the admins' message to everyone who plays, until the player hides it or its time is over. */
export function Announcement({ message, until }: NonNullable<GameSessionStatusResponse["announcement"]>) {
  const { t } = useTranslation("play");
  const now = useNow(10_000);
  const [hidden, setHidden] = useState<string>();
  const key = `${until} ${message}`;
  useEffect(() => {
    playWarningSound();
  }, [key]);
  if (hidden === key || Date.parse(until) <= now) return null;
  return (
    <div className="announcement">
      <div role="status">
        <h2>{t("announcement.title")}</h2>
        <p>{message}</p>
      </div>
      <button type="button" className="button" onClick={() => setHidden(key)}>
        {t("announcement.hide")}
      </button>
    </div>
  );
}
