import { useId, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { GameListItem, PlayedGame } from "#contracts/http/catalog.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatDuration, formatTimeAgo } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { useNow } from "../components/useNow.ts";
import { LaunchConflict, LaunchFailure } from "../launch/LaunchProblems.tsx";
import { useLaunch, type Launch } from "../launch/useLaunch.ts";
import { GameCard } from "./GameCard.tsx";
import { rowLength, useHomeRow, type HomeRow } from "./useHomeRow.ts";

/**
 * What the player plays, has marked, and what is new and popular. `total` is the number of games of the
 * catalogue: the list below shows a small one at a glance.
 */
export function HomeRows({ total }: { total: number }) {
  const isLarge = total > 3 * rowLength;
  return (
    <div className="home-rows">
      <ContinueRow />
      <FavoritesRow />
      {isLarge && <CatalogRow row="recent" sort="createdAt" />}
      {isLarge && <CatalogRow row="popular" sort="popular" />}
    </div>
  );
}

/** The games that the player has played, most recent first, each with a button that continues it. */
function ContinueRow() {
  const { t } = useTranslation("catalog");
  const { data, isPending, isError } = useHomeRow("continue");
  const launch = useLaunch();
  const now = useNow(60_000);
  if (isPending || isError) return null;
  const games = data.games.flatMap(({ played, ...game }) => (played ? [{ game, played }] : []));
  return (
    <Row
      row="continue"
      link={
        games.length > 0 && (
          <Link className="nav-link" to="/history">
            {t("rows.history")}
          </Link>
        )
      }
    >
      {launch.error !== null && <LaunchFailure error={launch.error} />}
      {games.length === 0 ? (
        <p className="muted">{t("rows.continueEmpty")}</p>
      ) : (
        <Cards row="continue">
          {games.map(({ game, played }) => (
            <li key={game.id}>
              <GameCard game={game} />
              <ContinueButton game={game} played={played} launch={launch} now={now} />
            </li>
          ))}
        </Cards>
      )}
      <LaunchConflict launch={launch} />
    </Row>
  );
}

interface ContinueButtonProps {
  game: GameListItem;
  played: PlayedGame;
  launch: Launch;
  now: number;
}

/** Continues the slot that was played last, or starts the game if it has no used slot. */
function ContinueButton({ game, played, launch, now }: ContinueButtonProps) {
  const { t } = useTranslation("catalog");
  const { slot, lastPlayedAt, playSeconds } = played;
  const isPressed = launch.isLaunching && launch.request?.gameSlug === game.slug;
  return (
    <div className="continue">
      <ActionButton
        className="button button-primary"
        isBusy={isPressed}
        disabled={launch.isLaunching && !isPressed}
        aria-label={t(slot === null ? "rows.playGame" : "rows.continueGame", { title: game.title })}
        onClick={() => launch.start({ gameSlug: game.slug, ...(slot !== null && { saveSlotId: slot.id }) })}
      >
        <Icon name="play" />
        {t(slot === null ? "game.play" : "rows.continueAction")}
      </ActionButton>
      <p className="muted">
        {formatTimeAgo(lastPlayedAt, now)}
        {playSeconds >= 60 && ` · ${t("rows.playTime", { time: formatDuration(playSeconds) })}`}
      </p>
    </div>
  );
}

function FavoritesRow() {
  const { t } = useTranslation("catalog");
  const { data, isPending, isError } = useHomeRow("favorites");
  if (isPending || isError) return null;
  return (
    <Row row="favorites" more={data.pagination.total > rowLength ? "/?favorites=true" : undefined}>
      {data.games.length === 0 ? (
        <p className="muted">{t("noFavorites.text")}</p>
      ) : (
        <Cards row="favorites">
          {data.games.map((game) => (
            <li key={game.id}>
              <GameCard game={game} />
            </li>
          ))}
        </Cards>
      )}
    </Row>
  );
}

function CatalogRow({ row, sort }: { row: HomeRow; sort: "createdAt" | "popular" }) {
  const { data } = useHomeRow(row);
  if (data === undefined || data.games.length === 0) return null;
  return (
    <Row row={row} more={`/?sort=${sort}`}>
      <Cards row={row}>
        {data.games.map((game) => (
          <li key={game.id}>
            <GameCard game={game} />
          </li>
        ))}
      </Cards>
    </Row>
  );
}

function Row({
  row,
  more,
  link,
  children,
}: {
  row: HomeRow;
  /** Where all games of the row are listed. */
  more?: string | undefined;
  link?: ReactNode;
  children: ReactNode;
}) {
  const { t } = useTranslation("catalog");
  const titleId = useId();
  return (
    <section className="home-row" aria-labelledby={titleId}>
      <div className="home-row-head">
        <h2 id={titleId}>{t(`rows.${row}`)}</h2>
        {link}
        {more !== undefined && (
          <Link className="nav-link" to={more} aria-label={t("rows.showAllOf", { row: t(`rows.${row}`) })}>
            {t("rows.showAll")}
          </Link>
        )}
      </div>
      {children}
    </section>
  );
}

/** A list that scrolls sideways, also by keyboard. */
function Cards({ row, children }: { row: HomeRow; children: ReactNode }) {
  const { t } = useTranslation("catalog");
  return (
    <ul className="card-row" aria-label={t(`rows.${row}`)}>
      {children}
    </ul>
  );
}
