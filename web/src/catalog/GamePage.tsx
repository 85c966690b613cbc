import { useCallback } from "react";
import { Link, useParams } from "react-router";
import type { GameDetail } from "#contracts/http/catalog.ts";
import { isApiError, sentenceFor } from "../client/apiError.ts";
import { readGame } from "../client/api.ts";
import { FavoriteButton } from "./FavoriteButton.tsx";
import { GameArt } from "./GameArt.tsx";
import { GameFacts } from "./GameFacts.tsx";
import { Icon } from "../components/Icon.tsx";
import { LaunchConflict } from "../launch/LaunchConflict.tsx";
import { LoadFailure, Notice, Spinner } from "../components/Notice.tsx";
import { SaveSlots } from "./SaveSlots.tsx";
import { Screenshots } from "./Screenshots.tsx";
import { useAuth } from "../signIn/useAuth.tsx";
import { useLaunch, type Launch } from "../launch/useLaunch.ts";
import { useNow } from "../components/useNow.ts";
import { useResource } from "../hooks/useResource.ts";
import { useTitle } from "../components/useTitle.ts";

/** One game: what it is, and where to go on in it. */
export function GamePage() {
  const { slug = "" } = useParams();
  const { noticeError } = useAuth();
  const { resource, reload, replace } = useResource(useCallback((signal: AbortSignal) => readGame(slug, signal).catch((error: unknown) => {
    noticeError(error);
    throw error;
  }), [slug, noticeError]));
  const launch = useLaunch();
  useTitle(resource.state === "ready" ? resource.value.title : undefined);
  if (resource.state === "loading") return <Spinner label="Loading the game…" />;
  if (resource.state === "failed") {
    if (!isApiError(resource.error, "not_found")) return <LoadFailure what="The game" error={resource.error} onRetry={reload} />;
    return (
      <Notice isPage title="This game is not here" actions={<Link className="button" to="/">All games</Link>}>
        <p>It may have been taken out of the catalogue.</p>
      </Notice>
    );
  }
  return <GameView game={resource.value} launch={launch} onChange={replace} />;
}

function GameView({ game, launch, onChange }: { game: GameDetail; launch: Launch; onChange: (game: GameDetail) => void }) {
  const now = useNow(60_000);
  const isBusy = launch.launch.state === "launching";
  return (
    <article className="game">
      <div className="game-backdrop" aria-hidden="true"><GameArt slug={game.slug} title={game.title} thumbnail={game.thumbnail} isEager /></div>
      <Link className="back" to="/"><Icon name="back" />All games</Link>
      <header className="game-head">
        <div className="game-art"><GameArt slug={game.slug} title={game.title} thumbnail={game.thumbnail} isEager /></div>
        <div>
          <h1>{game.title}</h1>
          <p className="game-developer">{game.developer}</p>
          <div className="game-actions">
            <PlayButton game={game} launch={launch} />
            <FavoriteButton gameId={game.id} title={game.title} isFavorite={game.isFavorite} onChange={(isFavorite) => onChange({ ...game, isFavorite })} />
          </div>
          {launch.launch.state === "failed" && <p className="message message-problem" role="alert">{sentenceFor(launch.launch.error)}</p>}
        </div>
      </header>
      <section className="game-slots" aria-labelledby="slots-title">
        <h2 id="slots-title">Your saves</h2>
        <SaveSlots
          slots={game.saveSlots}
          now={now}
          isBusy={isBusy}
          onContinue={(saveSlotId) => launch.start({ gameSlug: game.slug, saveSlotId })}
          onFresh={() => launch.start({ gameSlug: game.slug, fresh: true })}
        />
      </section>
      <div className="game-about">
        <section aria-labelledby="about-title">
          <h2 id="about-title">About</h2>
          {game.description === "" ? <p className="muted">The developer wrote no description.</p> : <p className="prose">{game.description}</p>}
        </section>
        <GameFacts game={game} />
      </div>
      <Screenshots title={game.title} addresses={game.screenshots} />
      <LaunchConflict launch={launch} />
    </article>
  );
}

/** Goes on where the player was last, or begins. */
function PlayButton({ game, launch: { launch, start } }: { game: GameDetail; launch: Launch }) {
  const saveSlotId = lastPlayedSlotId(game);
  const isBusy = launch.state === "launching";
  const label = saveSlotId === undefined ? "Play" : "Continue playing";
  return (
    <button
      type="button"
      className="button button-primary button-large"
      disabled={isBusy}
      onClick={() => start({ gameSlug: game.slug, ...(saveSlotId !== undefined && { saveSlotId }) })}
    >
      <Icon name="play" />{isBusy ? "Launching…" : label}
    </button>
  );
}

function lastPlayedSlotId({ saveSlots }: GameDetail): string | undefined {
  const used = saveSlots.filter(({ id }) => id !== null);
  return used.sort((first, second) => (second.lastPlayedAt ?? "").localeCompare(first.lastPlayedAt ?? ""))[0]?.id ?? undefined;
}
