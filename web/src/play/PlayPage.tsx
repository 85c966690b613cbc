import { useCallback, useEffect } from "react";
import { useParams, useSearchParams } from "react-router";
import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { Notice, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { queryOfRunning, slotChoiceOf } from "../launch/playPath.ts";
import type { StreamState } from "../stream/streamState.ts";
import { LaunchProgress } from "./LaunchProgress.tsx";
import { PlayerView } from "./PlayerView.tsx";
import { ExitLinks, PlayFrame } from "./PlayFrame.tsx";
import { SessionEnded } from "./SessionEnded.tsx";
import { useGameSession, type GameSessionView } from "./useGameSession.ts";
import { useGameStream, type GameStreamView } from "./useGameStream.ts";

/** One game session, from launch to statistics. */
export default function PlayPage() {
  const { sessionId = "" } = useParams();
  // The key makes a new page of each session, so that no state of another one remains.
  return <Play key={sessionId} sessionId={sessionId} />;
}

function Play({ sessionId }: { sessionId: string }) {
  const [query, setQuery] = useSearchParams();
  const gameSlug = query.get("game") ?? undefined;
  const view = useGameSession(sessionId);
  const isRunning = view.session?.status === "running";
  useEffect(() => {
    if (isRunning) setQuery(queryOfRunning, { replace: true });
  }, [isRunning, setQuery]);
  const { session, refresh } = view;
  const streamUrl = session === undefined || view.isStopping ? undefined : streamUrlOf(session);
  // A stream breaks off also because its session ends: the status tells which it is.
  const onStreamChange = useCallback(
    ({ phase }: StreamState) => {
      if (phase === "waiting" || phase === "ended" || phase === "failed") refresh();
    },
    [refresh],
  );
  const stream = useGameStream(streamUrl, onStreamChange);
  useStreamOfLaterPod(stream, session?.status);
  useTitle(session?.gameTitle);
  if (session === undefined)
    return (
      <PlayFrame>
        <NoSession view={view} gameSlug={gameSlug} />
      </PlayFrame>
    );
  switch (session.status) {
    case "starting":
    case "running": {
      const isStarting = session.status === "starting";
      if (view.isStopping && !isStarting)
        return (
          <PlayFrame>
            <Saving title={session.gameTitle} error={view.error} gameSlug={gameSlug} />
          </PlayFrame>
        );
      // The player's view is there while the session starts, under the launch progress: the picture shows as
      // soon as the session runs.
      const launch = isStarting && (
        <LaunchProgress
          session={session}
          isCancelling={view.isStopping}
          error={view.error ?? view.stopError}
          onCancel={view.stop}
        />
      );
      return <PlayerView launch={launch} session={session} stream={stream} view={view} gameSlug={gameSlug} />;
    }
    case "stopping":
      return (
        <PlayFrame>
          <Saving title={session.gameTitle} error={view.error} gameSlug={gameSlug} />
        </PlayFrame>
      );
    case "stopped":
    case "error":
      return (
        <PlayFrame>
          <SessionEnded
            session={session}
            statistics={view.statistics}
            gameSlug={gameSlug}
            choice={slotChoiceOf(query)}
          />
        </PlayFrame>
      );
  }
}

/**
 * Returns where the offer is posted, or undefined while it cannot be. The API holds the offer of a starting
 * session until its streamer runs, so that the connection is up before the game is.
 */
function streamUrlOf({
  status,
  sessionId,
  serverUrl,
  containerUrl,
}: GameSessionStatusResponse): string | undefined {
  if (status === "starting" && serverUrl !== null) return `${serverUrl}/${sessionId}`;
  return status === "running" ? (containerUrl ?? undefined) : undefined;
}

/**
 * Offers again where the session has its stream yet to come: one that ends while the session starts was of a
 * pod at a former place, and no failure of the start's offers is final for a session that runs.
 */
function useStreamOfLaterPod(
  { stream, state: { phase } }: GameStreamView,
  status: PublicStatus | undefined,
): void {
  useEffect(() => {
    if (status === "starting" && phase === "ended") stream?.retry();
  }, [stream, status, phase]);
  useEffect(() => {
    if (status === "running" && stream?.state.phase === "failed") stream.retry();
  }, [stream, status]);
}

/**
 * Says that the session is ending, and why that cannot be followed just now: it ends all the same, wherever
 * the player goes.
 */
function Saving({
  title,
  error,
  gameSlug,
}: {
  title: string;
  error: Error | null;
  gameSlug: string | undefined;
}) {
  return (
    <section className="play-message">
      <h1>{title}</h1>
      <Spinner label="Saving your progress…" />
      {error !== null && (
        <>
          <p className="message message-problem" role="alert">
            {sentenceFor(error)}
          </p>
          <div className="actions">
            <ExitLinks gameSlug={gameSlug} />
          </div>
        </>
      )}
    </section>
  );
}

function NoSession({
  view: { error, refresh },
  gameSlug,
}: {
  view: GameSessionView;
  gameSlug: string | undefined;
}) {
  if (error === null) return <Spinner label="Looking for your session…" />;
  if (isApiError(error, "not_found")) {
    return (
      <Notice title="This session is over" actions={<ExitLinks gameSlug={gameSlug} />}>
        <p>It ended a while ago, or it was never yours.</p>
      </Notice>
    );
  }
  return (
    <Notice
      tone="problem"
      title="Your session could not be reached"
      actions={
        <button type="button" className="button" onClick={refresh}>
          Try again
        </button>
      }
    >
      <p>{sentenceFor(error)}</p>
    </Notice>
  );
}
