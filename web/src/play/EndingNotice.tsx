import { useEffect, useState } from "react";
import { Trans, useTranslation } from "react-i18next";
import type { GameSessionEnding } from "#contracts/http/gameSessions.ts";
import { formatCountdown, formatHours } from "../components/format.ts";
import { useNow } from "../components/useNow.ts";
import { endingUrgency, type EndingUrgency } from "./gameSessionStatus.ts";
import { useTitleNotice } from "./useTitleNotice.ts";
import { playWarningSound } from "./warningSound.ts";

/** Why a session ends that the player can do nothing about. */
type FixedReason = Exclude<GameSessionEnding["reason"], "idle_timeout">;

/** An end with a time by the local clock that input does not postpone. */
export type FixedEnding = GameSessionEnding & { reason: FixedReason };

/** Returns whether input does not postpone the end. */
export function isFixed(ending: GameSessionEnding): ending is FixedEnding {
  return ending.reason !== "idle_timeout";
}

/**
 * Tells when and why the game will be stopped. The player can hide it; it returns five minutes and one minute
 * before the end, with a sound.
 */
export function EndingNotice({ ending }: { ending: FixedEnding }) {
  const now = useNow(1_000);
  const leftMs = Date.parse(ending.at) - now;
  const urgency = endingUrgency(leftMs);
  const key = `${ending.reason} ${ending.at} ${urgency}`;
  const [hidden, setHidden] = useState("");
  useEffect(() => {
    playWarningSound();
  }, [key]);
  return hidden === key ? null : (
    <Notice ending={ending} leftMs={leftMs} urgency={urgency} onHide={() => setHidden(key)} />
  );
}

function Notice({
  ending: { reason, message },
  leftMs,
  urgency,
  onHide,
}: {
  ending: FixedEnding;
  leftMs: number;
  urgency: EndingUrgency;
  onHide: () => void;
}) {
  const { t } = useTranslation(["play", "common"]);
  return (
    <div className="expiry expiry-idle">
      <div role="alert">
        <h2>{t(`play:ending.${reason}`)}</h2>
        <p>
          <Trans
            t={t}
            i18nKey="play:ending.text"
            values={{
              time: urgency === "planned" ? formatHours(wholeMinutes(leftMs)) : formatCountdown(leftMs),
            }}
            components={{ strong: <strong aria-live="off" /> }}
          />
        </p>
        {message !== undefined && <p>{t("play:ending.message", { message })}</p>}
      </div>
      <button type="button" className="button" onClick={onHide}>
        {t("play:ending.hide")}
      </button>
      {urgency !== "planned" && <TitleCountdown leftMs={leftMs} />}
    </div>
  );
}

function TitleCountdown({ leftMs }: { leftMs: number }) {
  const { t } = useTranslation("play");
  useTitleNotice(t("ending.tab", { time: formatCountdown(leftMs) }));
  return null;
}

/** Returns the time in seconds, rounded to minutes: a long countdown by the second only distracts. */
function wholeMinutes(ms: number): number {
  return Math.round(ms / 60_000) * 60;
}
