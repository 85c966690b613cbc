import type { GameSessionStatusResponse, StopResponse } from "#contracts/http/gameSessions.ts";
import { sentenceFor } from "../client/apiError.ts";
import { useLaunch } from "../launch/useLaunch.ts";
import { Icon } from "../components/Icon.tsx";
import { LaunchConflict } from "../launch/LaunchConflict.tsx";
import { WaysOut } from "./PlayFrame.tsx";
import { durationText, endingOf } from "../components/timeText.ts";

/** Why the session ended, what it used, and where to go from here. */
export function SessionEnded({ session, statistics, gameSlug }: {
  session: GameSessionStatusResponse;
  statistics: StopResponse | undefined;
  gameSlug: string | undefined;
}) {
  const { title, text } = endingOf(session);
  return (
    <section className="curtain-body" aria-labelledby="ended-title">
      <p className="eyebrow">{session.gameTitle}</p>
      <h1 id="ended-title">{title}</h1>
      <p className="lead" role={session.status === "error" ? "alert" : "status"}>{text}</p>
      {statistics !== undefined && statistics.duration > 0 && <Statistics statistics={statistics} />}
      <div className="actions">
        {gameSlug !== undefined && <PlayAgain gameSlug={gameSlug} label={session.status === "error" ? "Try again" : "Play again"} />}
        <WaysOut gameSlug={gameSlug} />
      </div>
    </section>
  );
}

function Statistics({ statistics: { duration, cpuSeconds, peakMemoryMb } }: { statistics: StopResponse }) {
  const figures = [
    ["Played", durationText(duration), "duration"],
    ["Processor time", `${cpuSeconds.toFixed(1)} s`, "cpu"],
    ["Peak memory", `${Math.round(peakMemoryMb)} MB`, "memory"],
  ] as const;
  return (
    <dl className="figures" data-testid="stop-statistics">
      {figures.map(([name, value, key]) => <div key={key}><dt>{name}</dt><dd data-testid={`stop-${key}`}>{value}</dd></div>)}
    </dl>
  );
}

/** Goes on with the slot that was played last, which is this one. */
function PlayAgain({ gameSlug, label }: { gameSlug: string; label: string }) {
  const launch = useLaunch();
  const isBusy = launch.launch.state === "launching";
  return (
    <>
      {launch.launch.state === "failed" && <p className="message message-problem" role="alert">{sentenceFor(launch.launch.error)}</p>}
      <button type="button" className="button button-primary" disabled={isBusy} onClick={() => launch.start({ gameSlug })}>
        <Icon name="play" />{isBusy ? "Launching…" : label}
      </button>
      <LaunchConflict launch={launch} />
    </>
  );
}
