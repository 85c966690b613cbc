import { launchStages, type GameSessionStatusResponse, type LaunchStage } from "#contracts/http/gameSessions.ts";
import { sentenceFor } from "../client/apiError.ts";
import { useNow } from "../components/useNow.ts";
import { Icon } from "../components/Icon.tsx";
import { stageTitles } from "../components/timeText.ts";

/** After this the player is told that it is not forgotten. */
const longLaunchMs = 30_000;

interface LaunchProgressProps {
  session: GameSessionStatusResponse;
  isCancelling: boolean;
  /** The last question failed; the launch goes on without us. */
  problem: unknown;
  onCancel: () => void;
}

/** What a starting session is busy with, stage by stage. */
export function LaunchProgress({ session, isCancelling, problem, onCancel }: LaunchProgressProps) {
  const current = session.stage ?? launchStages[0];
  const isLong = useNow(1_000) - Date.parse(session.startedAt) > longLaunchMs;
  return (
    <section className="curtain-body" aria-labelledby="launch-title">
      <h1 id="launch-title">{session.gameTitle}</h1>
      <ol className="stages">
        {launchStages.map((stage) => <Stage key={stage} stage={stage} current={current} progressPercent={session.progressPercent} />)}
      </ol>
      <p className="visually-hidden" role="status">{stageTitles[current]}</p>
      {problem !== undefined && <p className="message message-problem" role="alert">{sentenceFor(problem)}</p>}
      {isLong && <p className="muted">This takes longer than usual. Games that are new to a server are fetched first.</p>}
      <div className="actions">
        <button type="button" className="button" disabled={isCancelling} onClick={onCancel}>{isCancelling ? "Cancelling…" : "Cancel"}</button>
      </div>
    </section>
  );
}

function Stage({ stage, current, progressPercent }: { stage: LaunchStage; current: LaunchStage; progressPercent: number | undefined }) {
  const distance = launchStages.indexOf(stage) - launchStages.indexOf(current);
  const state = distance < 0 ? "done" : distance === 0 ? "now" : "later";
  const percent = stage === "downloading" && state === "now" ? progressPercent : undefined;
  return (
    <li className={`stage stage-${state}`} aria-current={state === "now" ? "step" : undefined}>
      <span className="stage-mark" aria-hidden="true">{state === "done" && <Icon name="check" />}</span>
      <span className="stage-title">{stageTitles[stage]}</span>
      {percent !== undefined && (
        <>
          <span className="stage-percent">{percent} %</span>
          <progress className="stage-bar" max={100} value={percent} aria-label="Download" />
        </>
      )}
    </li>
  );
}
