import { useState } from "react";
import { useTranslation } from "react-i18next";
import { launchSteps, type LaunchStep as Step } from "#contracts/crd/launchStep.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { describeError } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { useNow } from "../components/useNow.ts";

/** After this time the page says that the launch takes longer than usual. */
const longLaunchMs = 30_000;

interface LaunchProgressProps {
  session: GameSessionStatusResponse;
  isCancelling: boolean;
  /** Why the last request failed; the launch continues. */
  error: Error | null;
  onCancel: () => void;
}

/** The stages of a launch, with the current one and its progress. */
export function LaunchProgress({ session, isCancelling, error, onCancel }: LaunchProgressProps) {
  const { t } = useTranslation(["play", "common"]);
  const { stage: shown = "queued" } = session;
  const current = shown === "queued" ? launchSteps[0] : shown;
  // Measured by the local clock alone, which may be hours off the server's.
  const [openedAt] = useState(() => Date.now());
  const isLong = useNow(1_000) - openedAt > longLaunchMs;
  return (
    <section className="play-message" aria-labelledby="launch-title">
      <h1 id="launch-title">{session.gameTitle}</h1>
      <ol className="launch-steps">
        {launchSteps.map((stage) => (
          <LaunchStep key={stage} stage={stage} current={current} progressPercent={session.progressPercent} />
        ))}
      </ol>
      <p className="visually-hidden" role="status">
        {t(`launch.${current}`)}
      </p>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(error)}
        </p>
      )}
      {isLong && <p className="muted">{t("launch.long")}</p>}
      <div className="actions">
        <ActionButton className="button" isBusy={isCancelling} onClick={onCancel}>
          {isCancelling ? t("launch.cancelling") : t("common:cancel")}
        </ActionButton>
      </div>
    </section>
  );
}

function LaunchStep({
  stage,
  current,
  progressPercent,
}: {
  stage: Step;
  current: Step;
  progressPercent: number | undefined;
}) {
  const { t } = useTranslation("play");
  const distance = launchSteps.indexOf(stage) - launchSteps.indexOf(current);
  const state = distance < 0 ? "done" : distance === 0 ? "now" : "later";
  const percent = stage === "downloading" && state === "now" ? progressPercent : undefined;
  return (
    <li className={`launch-step launch-step-${state}`} aria-current={state === "now" ? "step" : undefined}>
      <span className="launch-step-mark" aria-hidden="true">
        {state === "done" && <Icon name="check" />}
      </span>
      <span className="launch-step-title">{t(`launch.${stage}`)}</span>
      {percent !== undefined && (
        <>
          <span className="launch-step-percent">{t("launch.percent", { percent })}</span>
          <progress className="launch-step-bar" max={100} value={percent} aria-label={t("launch.download")} />
        </>
      )}
    </li>
  );
}
