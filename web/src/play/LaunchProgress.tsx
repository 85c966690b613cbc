import { useState } from "react";
import {
  launchStages,
  type GameSessionStatusResponse,
  type LaunchStage,
} from "#contracts/http/gameSessions.ts";
import { sentenceFor } from "../client/apiError.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { Icon } from "../components/Icon.tsx";
import { useNow } from "../components/useNow.ts";

/** After this the page says that the launch takes longer than usual. */
const longLaunchMs = 30_000;

const stageTitles: Record<LaunchStage, string> = {
  scheduling: "Finding a server",
  downloading: "Getting the game ready",
  restoring: "Restoring your save",
  booting: "Starting the game",
  connecting: "Connecting the stream",
};

interface LaunchProgressProps {
  session: GameSessionStatusResponse;
  isCancelling: boolean;
  /** Why the last request failed; the launch goes on all the same. */
  error: Error | null;
  onCancel: () => void;
}

/** The stages of a launch, with the present one and its progress. */
export function LaunchProgress({ session, isCancelling, error, onCancel }: LaunchProgressProps) {
  const current = session.stage ?? launchStages[0];
  // By one clock: that of the player's machine may be hours off.
  const [openedAt] = useState(() => Date.now());
  const isLong = useNow(1_000) - openedAt > longLaunchMs;
  return (
    <section className="play-message" aria-labelledby="launch-title">
      <h1 id="launch-title">{session.gameTitle}</h1>
      <ol className="launch-steps">
        {launchStages.map((stage) => (
          <LaunchStep key={stage} stage={stage} current={current} progressPercent={session.progressPercent} />
        ))}
      </ol>
      <p className="visually-hidden" role="status">
        {stageTitles[current]}
      </p>
      {error !== null && (
        <p className="message message-problem" role="alert">
          {sentenceFor(error)}
        </p>
      )}
      {isLong && (
        <p className="muted">
          This takes longer than usual. Games that are new to a server are fetched first.
        </p>
      )}
      <div className="actions">
        <ActionButton className="button" isBusy={isCancelling} onClick={onCancel}>
          {isCancelling ? "Cancelling…" : "Cancel"}
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
  stage: LaunchStage;
  current: LaunchStage;
  progressPercent: number | undefined;
}) {
  const distance = launchStages.indexOf(stage) - launchStages.indexOf(current);
  const state = distance < 0 ? "done" : distance === 0 ? "now" : "later";
  const percent = stage === "downloading" && state === "now" ? progressPercent : undefined;
  return (
    <li className={`launch-step launch-step-${state}`} aria-current={state === "now" ? "step" : undefined}>
      <span className="launch-step-mark" aria-hidden="true">
        {state === "done" && <Icon name="check" />}
      </span>
      <span className="launch-step-title">{stageTitles[stage]}</span>
      {percent !== undefined && (
        <>
          <span className="launch-step-percent">{percent} %</span>
          <progress className="launch-step-bar" max={100} value={percent} aria-label="Download" />
        </>
      )}
    </li>
  );
}
