import { useEffect, useRef } from "react";
import { Trans, useTranslation } from "react-i18next";
import { useNavigate } from "react-router";
import { describeError } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { playPath } from "./playPath.ts";
import { useActiveGameSession } from "./useActiveGameSession.ts";
import type { Launch } from "./useLaunch.ts";

/**
 * Asks what to do about a launch that needs an answer: about the game that already runs, or about a save that
 * a newer version wrote.
 */
export function LaunchConflict({ launch }: { launch: Launch }) {
  return launch.olderVersion === undefined ? (
    <ActiveGameQuestion launch={launch} />
  ) : (
    <OlderVersionQuestion launch={launch} isStarting={launch.olderVersion.isStarting} />
  );
}

/** Asks whether to continue a save with an older version of the game. */
function OlderVersionQuestion({
  launch: { acceptOlderVersion, dismissConflict },
  isStarting,
}: {
  launch: Launch;
  isStarting: boolean;
}) {
  const { t } = useTranslation(["launch", "common"]);
  return (
    <Dialog
      title={t("olderVersion.title")}
      isBusy={isStarting}
      onDismiss={dismissConflict}
      actions={
        <>
          <ActionButton className="button button-primary" isBusy={isStarting} onClick={acceptOlderVersion}>
            {isStarting ? t("olderVersion.starting") : t("olderVersion.accept")}
          </ActionButton>
          <button
            type="button"
            className="button button-quiet"
            disabled={isStarting}
            onClick={dismissConflict}
          >
            {t("common:cancel")}
          </button>
        </>
      }
    >
      <p>{t("olderVersion.text")}</p>
    </Dialog>
  );
}

/** Asks whether to resume the game that already runs or to stop it for the new one. */
function ActiveGameQuestion({ launch: { conflict, stopAndStart, dismissConflict } }: { launch: Launch }) {
  const { t } = useTranslation(["launch", "common"]);
  const active = useActiveGameSession();
  const navigate = useNavigate();
  if (conflict === undefined) return null;
  const { activeSessionId, isStopping } = conflict;
  const other = active?.sessionId === activeSessionId ? active : undefined;
  const resume = (): void =>
    void navigate(playPath({ sessionId: activeSessionId, gameSlug: other?.gameSlug }));
  return (
    <Dialog
      title={t("conflict.title")}
      isBusy={isStopping}
      onDismiss={dismissConflict}
      actions={
        <>
          <button type="button" className="button button-primary" disabled={isStopping} onClick={resume}>
            {t("conflict.resume")}
          </button>
          <ActionButton className="button" isBusy={isStopping} onClick={stopAndStart}>
            {isStopping ? t("conflict.replacing") : t("conflict.replace")}
          </ActionButton>
          <button
            type="button"
            className="button button-quiet"
            disabled={isStopping}
            onClick={dismissConflict}
          >
            {t("common:cancel")}
          </button>
        </>
      }
    >
      <p>
        {other === undefined ? (
          t("conflict.textUnknown")
        ) : (
          <Trans
            t={t}
            i18nKey="conflict.text"
            values={{ title: other.gameTitle }}
            components={{ strong: <strong /> }}
          />
        )}
      </p>
    </Dialog>
  );
}

/** Shows why a launch failed, and scrolls into view: in a small window it may be outside the visible part. */
export function LaunchFailure({ error }: { error: Error }) {
  const alert = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // Newer browsers return a promise here, which React would take for a clean-up function.
    alert.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <p ref={alert} className="message message-problem" role="alert">
      {describeError(error)}
    </p>
  );
}
