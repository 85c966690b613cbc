import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link, useParams, useSearchParams } from "react-router";
import { useQuery } from "@tanstack/react-query";
import type { GameDetail } from "#contracts/http/catalog.ts";
import { defaultChannel } from "#contracts/http/gameChannels.ts";
import type { LaunchRequest } from "#contracts/http/gameSessions.ts";
import { isApiError } from "../client/apiError.ts";
import { parseUrl } from "../client/browser.ts";
import { readGame } from "../client/catalog.ts";
import { ActionButton } from "../components/ActionButton.tsx";
import { formatDate, formatLanguages } from "../components/format.ts";
import { Icon } from "../components/Icon.tsx";
import { LoadFailure, Notice, Spinner } from "../components/Notice.tsx";
import { useTitle } from "../components/useTitle.ts";
import { ConnectionTest } from "../connectionTest/ConnectionTest.tsx";
import { LaunchConflict, LaunchFailure } from "../launch/LaunchProblems.tsx";
import { PlayLimits } from "../launch/PlayLimits.tsx";
import { useLaunch, type Launch } from "../launch/useLaunch.ts";
import { SaveSlots } from "../saves/SaveSlots.tsx";
import { type SlotActions, isUsed } from "../saves/slotText.ts";
import { useSaves } from "../saves/useSaves.ts";
import { GameArt } from "./GameArt.tsx";
import { FavoriteButton } from "./GameCard.tsx";
import { GamePlayTime } from "./GamePlayTime.tsx";

/** One game: its description, the player's save slots, and a connection test. */
export function GamePage() {
  const { slug = "" } = useParams();
  // With a key per game, no state of another game remains.
  return <Game key={slug} slug={slug} />;
}

function Game({ slug }: { slug: string }) {
  const { t } = useTranslation("catalog");
  const game = useQuery({ queryKey: ["game", slug], queryFn: ({ signal }) => readGame(slug, signal) });
  const launch = useLaunch();
  useTitle(game.data?.title);
  if (game.data === null) return <NoGame slug={slug} />;
  // Input, uploads and tests on the page survive a failed refresh.
  if (game.data !== undefined) return <GameView game={game.data} launch={launch} />;
  if (game.isPending) return <Spinner label={t("game.loading")} />;
  return <LoadFailure title={t("game.loadFailed")} error={game.error} onRetry={() => void game.refetch()} />;
}

/**
 * Reports that there is no such game, and shows the player's saves of it, which remain when a game is removed
 * from the catalogue.
 */
function NoGame({ slug }: { slug: string }) {
  const { t } = useTranslation(["catalog", "common"]);
  const { data, error } = useSaves(slug);
  const isGone = isApiError(error, "not_found");
  const hasSaves = !isGone && data?.slots.some(isUsed) === true;
  return (
    <>
      <Notice
        isPage
        title={t("game.gone")}
        actions={
          <Link className="button" to="/">
            {t("common:allGames")}
          </Link>
        }
      >
        <p>{hasSaves ? t("game.goneWithSaves") : t("game.goneText")}</p>
      </Notice>
      {(hasSaves || (error !== null && !isGone)) && (
        <div className="game">
          <SlotsSection slug={slug} launch={undefined} />
        </div>
      )}
    </>
  );
}

function SlotsSection(actions: SlotActions) {
  const { t } = useTranslation("catalog");
  const error = actions.launch?.error ?? null;
  return (
    <section className="game-slots" aria-labelledby="slots-title">
      <h2 id="slots-title">{t("game.saves")}</h2>
      {error !== null && <LaunchFailure error={error} />}
      <SaveSlots {...actions} />
    </section>
  );
}

function GameView({ game, launch }: { game: GameDetail; launch: Launch }) {
  const { t } = useTranslation(["catalog", "common"]);
  const { request, isLaunching, error } = launch;
  // “Play” names no slot. A failed launch is reported next to the button that started it.
  const choice = request?.saveSlotId !== undefined || request?.fresh === true ? request : undefined;
  const [channel, setChannel] = useChannel(game);
  const start = (request: Omit<LaunchRequest, "gameSlug"> = {}): void =>
    launch.start({ gameSlug: game.slug, ...request, ...(channel !== undefined && { channel }) });
  return (
    <article className="game">
      <div className="game-backdrop" aria-hidden="true">
        <GameArt slug={game.slug} title={game.title} thumbnail={game.thumbnail} isEager />
      </div>
      <Link className="back" to="/">
        <Icon name="back" />
        {t("common:allGames")}
      </Link>
      <header className="game-head">
        <div className="game-art">
          <GameArt slug={game.slug} title={game.title} thumbnail={game.thumbnail} isEager />
        </div>
        <div>
          <h1>{game.title}</h1>
          <p className="game-developer">{game.developer}</p>
          <div className="game-actions">
            <PlayButton
              game={game}
              isLaunching={isLaunching}
              isPressed={isLaunching && choice === undefined}
              onPlay={() => start()}
            />
            {game.channels !== undefined && (
              <ChannelChoice channels={game.channels} value={channel} onChange={setChannel} />
            )}
            <FavoriteButton gameId={game.id} title={game.title} isFavorite={game.isFavorite} />
          </div>
          {error !== null && choice === undefined && <LaunchFailure error={error} />}
          <PlayLimits />
          <GamePlayTime slug={game.slug} title={game.title} />
        </div>
      </header>
      <SlotsSection
        slug={game.slug}
        launch={{
          isBusy: isLaunching,
          choice,
          error: choice === undefined ? null : error,
          onContinue: (saveSlotId) => start({ saveSlotId }),
          onFresh: () => start({ fresh: true }),
        }}
      />
      <ConnectionTest />
      <div className="game-about">
        <section aria-labelledby="about-title">
          <h2 id="about-title">{t("game.about")}</h2>
          {game.description === "" ? (
            <p className="muted">{t("game.noDescription")}</p>
          ) : (
            <p className="prose">{game.description}</p>
          )}
        </section>
        <GameFacts game={game} />
      </div>
      <Screenshots title={game.title} addresses={game.screenshots} />
      <LaunchConflict launch={launch} />
    </article>
  );
}

/**
 * Continues the slot that was played last, or starts a new game. The API chooses the slot: one that the page
 * shows may have been deleted since.
 */
function PlayButton({
  game: { saveSlots },
  isLaunching,
  isPressed,
  onPlay,
}: {
  game: GameDetail;
  isLaunching: boolean;
  isPressed: boolean;
  onPlay: () => void;
}) {
  const { t } = useTranslation(["catalog", "common"]);
  const label = saveSlots.some(({ id }) => id !== null) ? t("game.continue") : t("game.play");
  return (
    <ActionButton className="button button-primary button-large" isBusy={isLaunching} onClick={onPlay}>
      <Icon name="play" />
      {isPressed ? t("common:launching") : label}
    </ActionButton>
  );
}

/** Returns the channel to play, undefined for the usual one; at first the one in the page's address. */
function useChannel({ channels }: GameDetail): [string | undefined, (channel: string) => void] {
  const [query] = useSearchParams();
  const [chosen, setChosen] = useState(query.get("channel") ?? defaultChannel);
  const channel = channels?.includes(chosen) === true ? chosen : channels?.[0];
  return [channel === defaultChannel ? undefined : channel, setChosen];
}

/** Lets an invited player choose which version to play. */
function ChannelChoice({
  channels,
  value = defaultChannel,
  onChange,
}: {
  channels: readonly string[];
  value: string | undefined;
  onChange: (channel: string) => void;
}) {
  const { t } = useTranslation("catalog");
  return (
    <label className="field">
      <span>{t("game.channel")}</span>
      <select value={value} onChange={({ target }) => onChange(target.value)}>
        {channels.map((name) => (
          <option key={name} value={name}>
            {name === defaultChannel ? t("game.channelDefault") : name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Short facts next to the description, without those that the developer left out. */
function GameFacts({ game }: { game: GameDetail }) {
  const { t } = useTranslation("catalog");
  const facts = [
    [t("facts.released"), formatDate(game.releaseDate)],
    [t("facts.rating"), game.contentRating],
    [t("facts.languages"), formatLanguages(game.languages)],
  ].filter(([, value]) => value !== "");
  const hasWebsite = isWebAddress(game.website);
  return (
    <aside className="facts" aria-label={t("facts.title")}>
      {(facts.length > 0 || hasWebsite) && (
        <dl>
          {facts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
          {hasWebsite && (
            <div>
              <dt>{t("facts.website")}</dt>
              <dd>
                <a href={game.website} target="_blank" rel="noopener noreferrer">
                  {new URL(game.website).host} <Icon name="link" />
                </a>
              </dd>
            </div>
          )}
        </dl>
      )}
      {game.tags.length > 0 && (
        <ul className="tags" aria-label={t("filters.tags")}>
          {game.tags.map((tag) => (
            <li key={tag}>
              <Link className="tag" to={`/?${new URLSearchParams({ tag })}`}>
                {tag}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </aside>
  );
}

/** Partners enter these addresses: only web addresses become links. */
function isWebAddress(address: string): boolean {
  return /^https?:\/\//i.test(address) && parseUrl(address) !== undefined;
}

/** Pictures of the game in a strip that scrolls horizontally, without those that do not load. */
function Screenshots({ title, addresses }: { title: string; addresses: readonly string[] }) {
  const { t } = useTranslation("catalog");
  const [broken, setBroken] = useState<readonly string[]>([]);
  const shown = [...new Set(addresses)].filter((address) => !broken.includes(address));
  if (shown.length === 0) return null;
  return (
    <section aria-labelledby="screenshots-title">
      <h2 id="screenshots-title">{t("game.screenshots")}</h2>
      <ul className="screenshots" tabIndex={0} aria-labelledby="screenshots-title">
        {shown.map((address, place) => (
          <li key={address}>
            <img
              src={address}
              alt={t("game.screenshot", { title, number: place + 1 })}
              loading="lazy"
              decoding="async"
              onError={() => setBroken((before) => [...before, address])}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}
