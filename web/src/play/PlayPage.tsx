import { useCallback, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useParams, useSearchParams } from "react-router";
import type { PublicStatus } from "#contracts/crd/sessionState.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import { isApiError, describeError } from "../client/apiError.ts";
import { Notice, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { toRunningQuery, parseSlotChoice } from "../launch/playPath.ts";
import type { StreamState } from "../stream/streamState.ts";
import { LaunchProgress } from "./LaunchProgress.tsx";
import { PlayerView } from "./PlayerView.tsx";
import { Presence } from "./presence.ts";
import { ExitLinks, PlayFrame } from "./PlayFrame.tsx";
import { QueueWait } from "./QueueWait.tsx";
import { SessionEnded } from "./SessionEnded.tsx";
import { useGameSession, type GameSessionView } from "./useGameSession.ts";
import { useGameStream, type GameStreamView } from "./useGameStream.ts";
import { useLeaveReport } from "./useLeaveReport.ts";
import { useWaitingKeepalive } from "./useWaitingKeepalive.ts";

/** One game session, from launch to statistics. */
export default function PlayPage() {
  const { sessionId = "" } = useParams();
  // With a key per session, no state of another session remains.
  return <Play key={sessionId} sessionId={sessionId} />;
}

function Play({ sessionId }: { sessionId: string }) {
  const [query, setQuery] = useSearchParams();
  const gameSlug = query.get("game") ?? undefined;
  const presence = usePresence();
  const view = useGameSession(sessionId, presence);
  const isRunning = view.session?.status === "running";
  useEffect(() => {
    if (isRunning) setQuery(toRunningQuery, { replace: true });
  }, [isRunning, setQuery]);
  const { session, refresh } = view;
  const streamUrl = session === undefined || view.isStopping ? undefined : streamUrlOf(session);
  // A stream also breaks off when its session ends or another player signs in: the status tells.
  const onStreamChange = useCallback(
    ({ phase }: StreamState) => {
      if (phase === "waiting" || phase === "ended" || phase === "failed") refresh();
    },
    [refresh],
  );
  const stream = useGameStream(streamUrl, onStreamChange);
  useLeaveReport(session, stream.stream, view.isStopping);
  useWaitingKeepalive(sessionId, view);
  useNotedInput(stream, presence);
  useStreamRetry(stream, session?.status);
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
            <Saving session={session} error={view.error} gameSlug={gameSlug} />
          </PlayFrame>
        );
      if (isStarting && session.queue !== undefined)
        return (
          <PlayFrame>
            <QueueWait session={session} queue={session.queue} view={view} />
          </PlayFrame>
        );
      // The player view is rendered under the launch progress, so that the picture appears as soon as the
      // session runs.
      const launch = isStarting && (
        <LaunchProgress
          session={session}
          isCancelling={view.isStopping}
          error={view.error ?? view.stopError}
          onCancel={view.stop}
        />
      );
      return (
        <PlayerView
          launch={launch}
          session={session}
          stream={stream}
          view={view}
          presence={presence}
          gameSlug={gameSlug}
        />
      );
    }
    case "stopping":
      return (
        <PlayFrame>
          <Saving session={session} error={view.error} gameSlug={gameSlug} />
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
            choice={parseSlotChoice(query)}
          />
        </PlayFrame>
      );
  }
}

/** Returns what knows whether somebody is at the game, by input on this page. */
function usePresence(): Presence {
  const [presence] = useState(() => new Presence());
  useEffect(() => presence.watch(window), [presence]);
  return presence;
}

/** Notes input that the streamer reports, also of other seats. */
function useNotedInput({ stream }: GameStreamView, presence: Presence): void {
  useEffect(
    () =>
      stream?.on("notice", ({ t }) => {
        if (t === "input") presence.note();
      }),
    [stream, presence],
  );
}

/**
 * Returns the address for the offer, or undefined while there is none, as in the queue. The API holds the
 * offer for a starting session until its streamer runs, so that the connection is up before the game.
 */
function streamUrlOf({
  status,
  stage,
  sessionId,
  serverUrl,
  containerUrl,
}: GameSessionStatusResponse): string | undefined {
  if (stage === "queued") return undefined;
  if (status === "starting" && serverUrl !== null) return `${serverUrl}/${sessionId}`;
  return status === "running" ? (containerUrl ?? undefined) : undefined;
}

/**
 * Retries the stream of a session that is about to have one: a stream that ends during the start belonged to
 * a pod that was replaced, and a failure during the start is not final once the session runs.
 */
function useStreamRetry(
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
 * Shows that the session is ending, and why, or why its status cannot be read. It ends even if the player
 * leaves.
 */
function Saving({
  session: { gameTitle, status, ending },
  error,
  gameSlug,
}: {
  session: GameSessionStatusResponse;
  error: Error | null;
  gameSlug: string | undefined;
}) {
  const { t } = useTranslation("play");
  return (
    <section className="play-message">
      <h1>{gameTitle}</h1>
      {status === "stopping" && ending !== undefined && (
        <div role="alert">
          <p>{t(`ended.${ending.reason}.title`)}</p>
          {ending.message !== undefined && <p>{t("ending.message", { message: ending.message })}</p>}
        </div>
      )}
      <Spinner label={t("savingProgress")} />
      {error !== null && (
        <>
          <p className="message message-problem" role="alert">
            {describeError(error)}
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
  const { t } = useTranslation(["play", "common"]);
  if (error === null) return <Spinner label={t("lookingForSession")} />;
  if (isApiError(error, "not_found")) {
    return (
      <Notice title={t("over.title")} actions={<ExitLinks gameSlug={gameSlug} />}>
        <p>{t("over.text")}</p>
      </Notice>
    );
  }
  return (
    <Notice
      tone="problem"
      title={t("unreachable")}
      actions={
        <button type="button" className="button" onClick={refresh}>
          {t("common:retry")}
        </button>
      }
    >
      <p>{describeError(error)}</p>
    </Notice>
  );
}
