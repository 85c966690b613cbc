import { useEffect, useState } from "react";
import { Trans, useTranslation } from "react-i18next";
import { formatCountdown } from "../components/format.ts";
import { useNow } from "../components/useNow.ts";
import { expiryWarning } from "./gameSessionStatus.ts";
import { useTitleNotice } from "./useTitleNotice.ts";
import { playWarningSound } from "./warningSound.ts";

interface ExpiryWarningProps {
  /** When the session is stopped as idle. */
  expiresAt: string | undefined;
  /** Whether keepalives do not arrive, so that input does not help. */
  isCutOff: boolean;
  onConfirm: () => void;
}

/**
 * Warns that the session is about to stop as idle: five minutes and one minute before, over the picture, in
 * the title and by a sound. Any input ends the warning, because it sends a keepalive.
 */
export function ExpiryWarning({ expiresAt, isCutOff, onConfirm }: ExpiryWarningProps) {
  const now = useNow(1_000);
  const left = expiresAt === undefined ? 0 : Date.parse(expiresAt) - now;
  // With a short idle timeout the warning starts at half of the time that the last keepalive gained.
  const [gained, setGained] = useState({ expiresAt, left });
  if (gained.expiresAt !== expiresAt) setGained({ expiresAt, left });
  const warning = expiresAt === undefined ? undefined : expiryWarning(left, gained.left, isCutOff);
  if (warning === undefined) return null;
  return isCutOff ? (
    <CutOffWarning left={left} />
  ) : (
    <IdleWarning left={left} warning={warning} onConfirm={onConfirm} />
  );
}

function CutOffWarning({ left }: { left: number }) {
  const { t } = useTranslation("play");
  return (
    <p className="expiry" role="alert">
      {/* Screen readers must not read it out every second. */}
      <Trans
        t={t}
        i18nKey="expiring"
        values={{ time: formatCountdown(left) }}
        components={{ strong: <strong aria-live="off" /> }}
      />
    </p>
  );
}

function IdleWarning({
  left,
  warning,
  onConfirm,
}: {
  left: number;
  warning: "early" | "late";
  onConfirm: () => void;
}) {
  const { t } = useTranslation("play");
  const time = formatCountdown(left);
  useTitleNotice(t("idle.tab", { time }));
  useEffect(playWarningSound, [warning]);
  return (
    <div className="expiry expiry-idle">
      <div role="alert">
        <h2>{t("idle.title")}</h2>
        <p>
          <Trans
            t={t}
            i18nKey="idle.text"
            values={{ time }}
            components={{ strong: <strong aria-live="off" /> }}
          />
        </p>
      </div>
      <button type="button" className="button" onClick={onConfirm}>
        {t("idle.confirm")}
      </button>
    </div>
  );
}
