import { useId } from "react";
import { Trans, useTranslation } from "react-i18next";
import { Link, useSearchParams } from "react-router";
import type {
  HistoryGame,
  HistoryResponse,
  PlayedSession,
  PlayTimeResponse,
} from "#contracts/http/history.ts";
import { GameArt } from "../catalog/GameArt.tsx";
import { formatDuration, formatMoment } from "../components/format.ts";
import { LoadFailure, Notice, ReadState, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { t } from "../i18n.ts";
import { uniqueBy, usePlayedSessions, usePlayTime } from "./usePlayHistory.ts";

/** Ends that need no explanation. */
const expectedEnds: ReadonlySet<string> = new Set([
  "user_requested",
  "idle_timeout",
  "max_duration",
  "play_limit",
  "game_exited",
]);

/** The player's own sessions, and how long each game was played. */
export default function HistoryPage() {
  const { t } = useTranslation("history");
  useTitle(t("title"));
  const [query] = useSearchParams();
  const game = query.get("game") ?? "";
  const history = usePlayedSessions(game);
  const first = history.data?.pages[0];
  const sessions = uniqueBy(
    history.data?.pages.flatMap((page) => page.sessions) ?? [],
    ({ sessionId }) => sessionId,
  );
  return (
    <>
      <div className="page-head history-head">
        <h1>{t("title")}</h1>
        <p className="muted" role="status">
          {sessions.length > 0 && describeTotals(first)}
        </p>
      </div>
      {game !== "" && <OneGame title={sessions[0]?.game.title ?? game} />}
      {first === undefined ? (
        <ReadState query={history} failureTitle={t("loadFailed")} />
      ) : sessions.length === 0 ? (
        <NothingPlayed isOneGame={game !== ""} />
      ) : (
        <div className={game === "" ? "history" : "history history-one"}>
          {game === "" && <GamesByTime />}
          <Sessions sessions={sessions} history={history} />
        </div>
      )}
    </>
  );
}

function describeTotals(first: HistoryResponse | undefined): string {
  if (first === undefined) return "";
  return t("history:summary", {
    count: first.pagination.total,
    time: formatDuration(first.playSeconds),
  });
}

function Sessions({
  sessions,
  history: { error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch },
}: {
  sessions: readonly PlayedSession[];
  history: ReturnType<typeof usePlayedSessions>;
}) {
  const { t } = useTranslation("history");
  const titleId = useId();
  return (
    <section aria-labelledby={titleId}>
      <h2 id={titleId}>{t("sessions")}</h2>
      <ol className="history-list" aria-labelledby={titleId}>
        {sessions.map((session) => (
          <SessionItem key={session.sessionId} session={session} />
        ))}
      </ol>
      {error !== null ? (
        <LoadFailure
          title={t("loadMoreFailed")}
          error={error}
          onRetry={() => void (hasNextPage ? fetchNextPage() : refetch())}
        />
      ) : (
        <More
          label={t("loadMore")}
          isLoading={isFetchingNextPage}
          hasMore={hasNextPage}
          onMore={() => void fetchNextPage()}
        />
      )}
    </section>
  );
}

/** Says that the list has the sessions of one game only, and leads back to all. */
function OneGame({ title }: { title: string }) {
  const { t } = useTranslation("history");
  return (
    <p className="history-filter">
      <span>
        <Trans t={t} i18nKey="oneGame" values={{ title }} components={{ strong: <strong /> }} />
      </span>
      <Link className="text-button" to="/history">
        {t("allSessions")}
      </Link>
    </p>
  );
}

function NothingPlayed({ isOneGame }: { isOneGame: boolean }) {
  const { t } = useTranslation("history");
  return (
    <Notice
      title={t("empty.title")}
      actions={
        <Link className="button button-primary" to="/">
          {t("empty.action")}
        </Link>
      }
    >
      <p>{isOneGame ? t("empty.game") : t("empty.text")}</p>
    </Notice>
  );
}

/** The player's games with bars that compare their play times. */
function GamesByTime() {
  const { t } = useTranslation("history");
  const titleId = useId();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = usePlayTime();
  if (data === undefined) return null;
  const games = uniqueBy(
    data.pages.flatMap((page) => page.games),
    ({ game }) => game.slug,
  );
  const longest = Math.max(...games.map(({ playSeconds }) => playSeconds));
  return (
    <section className="history-games" aria-labelledby={titleId}>
      <h2 id={titleId}>{t("perGame")}</h2>
      <ol className="game-times" aria-labelledby={titleId}>
        {games.map((played) => (
          <GameTime key={played.game.slug} played={played} longest={longest} />
        ))}
      </ol>
      {error !== null ? (
        <LoadFailure title={t("moreGamesFailed")} error={error} onRetry={() => void fetchNextPage()} />
      ) : (
        <More
          label={t("moreGames")}
          isLoading={isFetchingNextPage}
          hasMore={hasNextPage}
          onMore={() => void fetchNextPage()}
        />
      )}
    </section>
  );
}

function GameTime({ played, longest }: { played: PlayTimeResponse["games"][number]; longest: number }) {
  const { t } = useTranslation("history");
  const { game, sessions, playSeconds } = played;
  const percent = longest === 0 ? 0 : (100 * playSeconds) / longest;
  return (
    <li className="game-time">
      <Link to={`/history?${new URLSearchParams({ game: game.slug })}`} aria-label={t("onlyGame", game)}>
        {game.title}
      </Link>
      <span>
        {formatDuration(playSeconds)} · {t("gameSessions", { count: sessions })}
      </span>
      <span className="game-time-bar" aria-hidden="true">
        <span style={{ width: `${percent}%` }} />
      </span>
    </li>
  );
}

function SessionItem({ session }: { session: PlayedSession }) {
  const { t } = useTranslation("history");
  const { game, startedAt, playSeconds, slot, endReason, message, saveNotice } = session;
  const isExpected = endReason !== undefined && expectedEnds.has(endReason);
  const notes = [isExpected ? undefined : message, saveNotice].filter((note) => note !== undefined).join(" ");
  return (
    <li className="history-item">
      <div className="history-art">
        <GameArt slug={game.slug} title={game.title} thumbnail={game.thumbnail} />
      </div>
      <div className="history-text">
        <GameTitle game={game} />
        <p>
          <time dateTime={startedAt}>{formatMoment(startedAt)}</time> ·{" "}
          {slot === null ? t("noSlot") : t("slot", { number: slot.slotNumber, name: slot.label })}
          {!game.isAvailable && ` · ${t("unavailable")}`}
        </p>
      </div>
      <div className="history-end">
        {playSeconds !== null && playSeconds > 0 && <strong>{formatDuration(playSeconds)}</strong>}
        <span>{describeHistoryEnd(session)}</span>
      </div>
      {notes !== "" && <p className="history-note">{notes}</p>}
    </li>
  );
}

/** The page of a game that has left the catalogue shows the player's saves of it, if there are any. */
function GameTitle({ game }: { game: HistoryGame }) {
  return (
    <h3>
      <Link to={`/games/${game.slug}`}>{game.title}</Link>
    </h3>
  );
}

/** Returns how a session ended, or what it does now, in a few words. */
function describeHistoryEnd({ status, endReason }: PlayedSession): string {
  const isOwnReason = status === "stopped" || endReason === "game_unavailable";
  return t(`history:end.${isOwnReason ? (endReason ?? status) : status}`);
}

function More({
  label,
  isLoading,
  hasMore,
  onMore,
}: {
  label: string;
  isLoading: boolean;
  hasMore: boolean;
  onMore: () => void;
}) {
  const { t } = useTranslation(["history", "common"]);
  if (!hasMore) return null;
  return (
    <div className="more">
      {isLoading ? (
        <Spinner label={t("common:loading")} />
      ) : (
        <button type="button" className="button" onClick={onMore}>
          {label}
        </button>
      )}
    </div>
  );
}
