import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { GameSessionStatusResponse, LaunchRequest, StopResponse } from "#contracts/http/gameSessions.ts";
import { describeError } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatDuration } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { LaunchConflict } from "../launch/LaunchProblems.tsx";
import type { SlotChoice } from "../launch/playPath.ts";
import { useLaunch } from "../launch/useLaunch.ts";
import { describeEnd, describeGameError } from "./endMessage.ts";
import { ExitLinks } from "./PlayFrame.tsx";

/** Shows why the session ended, what it used, and what the player can do next. */
export function SessionEnded({
  session,
  statistics,
  gameSlug,
  choice,
}: {
  session: GameSessionStatusResponse;
  statistics: StopResponse | undefined;
  gameSlug: string | undefined;
  /** The slot that the session was launched with. */
  choice: SlotChoice;
}) {
  const { t } = useTranslation(["play", "common"]);
  const { title, text } = describeEnd(session);
  const details = describeGameError(session);
  const heading = useRef<HTMLHeadingElement>(null);
  // The element that had the focus, the game or the stop button, is gone.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus();
  }, []);
  return (
    <section className="play-message" aria-labelledby="ended-title">
      <p className="eyebrow">{session.gameTitle}</p>
      <h1 ref={heading} id="ended-title" tabIndex={-1}>
        {title}
      </h1>
      <p className="lead" role={session.status === "error" ? "alert" : "status"}>
        {text}
      </p>
      {details !== undefined && (
        <p>
          {t("ended.gameError.report")}
          <br />
          <code data-testid="game-error">{details}</code>
        </p>
      )}
      {statistics !== undefined && statistics.duration > 0 && <Statistics statistics={statistics} />}
      <div className="actions">
        {gameSlug !== undefined && (
          <PlayAgain
            request={{ gameSlug, ...choice }}
            label={session.status === "error" ? t("common:retry") : t("ended.playAgain")}
          />
        )}
        <ExitLinks gameSlug={gameSlug} />
      </div>
    </section>
  );
}

function Statistics({ statistics: { duration, cpuSeconds, peakMemoryMb } }: { statistics: StopResponse }) {
  const { t } = useTranslation("play");
  const figures = [
    [t("ended.played"), formatDuration(duration), "duration"],
    [t("ended.processorTime"), t("ended.seconds", { seconds: cpuSeconds.toFixed(1) }), "cpu"],
    [t("ended.peakMemory"), t("ended.megabytes", { megabytes: Math.round(peakMemoryMb) }), "memory"],
  ] as const;
  return (
    <dl className="figures" data-testid="stop-statistics">
      {figures.map(([name, value, key]) => (
        <div key={key}>
          <dt>{name}</dt>
          <dd data-testid={`stop-${key}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Launches the game again with the slot of this session. */
function PlayAgain({ request, label }: { request: LaunchRequest; label: string }) {
  const { t } = useTranslation(["play", "common"]);
  const launch = useLaunch();
  return (
    <>
      {launch.error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(launch.error)}
        </p>
      )}
      <ActionButton
        className="button button-primary"
        isBusy={launch.isLaunching}
        onClick={() => launch.start(request)}
      >
        <Icon name="play" />
        {launch.isLaunching ? t("common:launching") : label}
      </ActionButton>
      <LaunchConflict launch={launch} />
    </>
  );
}
