import { useCallback } from "react";
import { useParams, useSearchParams } from "react-router";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { LaunchProgress } from "./LaunchProgress.tsx";
import { Notice, Spinner } from "../components/Notice.tsx";
import { PlayFrame, WaysOut } from "./PlayFrame.tsx";
import { PlayStage } from "./PlayerView.tsx";
import { SessionEnded } from "./SessionEnded.tsx";
import { useAuth } from "../signIn/useAuth.tsx";
import { useGameSession, type GameSessionView } from "./useGameSession.ts";
import { useGameStream } from "./useGameStream.ts";
import { useTitle } from "../components/useTitle.ts";
import type { StreamState } from "../stream/streamState.ts";

/** One game session, from launch to statistics. */
export default function PlayPage() {
  const { sessionId = "" } = useParams();
  const [query] = useSearchParams();
  const gameSlug = query.get("game") ?? undefined;
  // Another session is another page: nothing of the last one is kept.
  return <Play key={sessionId} sessionId={sessionId} gameSlug={gameSlug} />;
}

function Play({ sessionId, gameSlug }: { sessionId: string; gameSlug: string | undefined }) {
  const { noticeError } = useAuth();
  const view = useGameSession(sessionId, noticeError);
  const { session, refresh } = view;
  const streamUrl = session === undefined || view.isStopping ? undefined : streamUrlOf(session);
  // A stream that is gone may mean that the session is: ask at once why.
  const onStreamChange = useCallback(({ phase }: StreamState) => {
    if (phase === "waiting" || phase === "ended" || phase === "failed") refresh();
  }, [refresh]);
  const stream = useGameStream(streamUrl, onStreamChange);
  useTitle(session?.gameTitle);
  if (session === undefined) return <PlayFrame><NoSession view={view} gameSlug={gameSlug} /></PlayFrame>;
  switch (session.status) {
    case "starting":
    case "running": {
      const isStarting = session.status === "starting";
      if (view.isStopping && !isStarting) return <PlayFrame><Saving title={session.gameTitle} /></PlayFrame>;
      // The stage is set while the session starts: when it runs, all that is left to do is to lift the curtain.
      const launch = isStarting && <LaunchProgress session={session} isCancelling={view.isStopping} problem={view.error} onCancel={view.stop} />;
      return <PlayStage launch={launch} session={session} stream={stream} view={view} gameSlug={gameSlug} />;
    }
    case "stopping":
      return <PlayFrame><Saving title={session.gameTitle} /></PlayFrame>;
    case "stopped":
    case "error":
      return <PlayFrame><SessionEnded session={session} statistics={view.statistics} gameSlug={gameSlug} /></PlayFrame>;
  }
}

/** Where the offer goes. While the session starts it is held there until its streamer runs: the connection is up before the game is. */
function streamUrlOf({ status, sessionId, serverUrl, containerUrl }: GameSessionStatusResponse): string | undefined {
  if (status === "starting" && serverUrl !== null) return `${serverUrl}/${sessionId}`;
  return status === "running" ? (containerUrl ?? undefined) : undefined;
}

function Saving({ title }: { title: string }) {
  return (
    <section className="curtain-body">
      <h1>{title}</h1>
      <Spinner label="Saving your progress…" />
    </section>
  );
}

function NoSession({ view: { error, refresh }, gameSlug }: { view: GameSessionView; gameSlug: string | undefined }) {
  if (error === undefined) return <Spinner label="Looking for your session…" />;
  if (isApiError(error, "not_found")) {
    return (
      <Notice title="This session is over" actions={<WaysOut gameSlug={gameSlug} />}>
        <p>It ended a while ago, or it was never yours.</p>
      </Notice>
    );
  }
  return (
    <Notice tone="problem" title="Your session could not be reached" actions={<button type="button" className="button" onClick={refresh}>Try again</button>}>
      <p>{sentenceFor(error)}</p>
    </Notice>
  );
}
