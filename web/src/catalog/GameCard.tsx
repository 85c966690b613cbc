import { memo } from "react";
import { Link } from "react-router";
import type { GameListItem } from "#contracts/http/catalog.ts";
import { FavoriteButton } from "./FavoriteButton.tsx";
import { GameArt } from "./GameArt.tsx";

/**
 * One game of the catalogue. The whole card is a link to the game; the favourite button lies on top of it.
 */
export const GameCard = memo(function GameCard({ game }: { game: GameListItem }) {
  return (
    <article className="card">
      <div className="card-art">
        <GameArt slug={game.slug} title={game.title} thumbnail={game.thumbnail} />
      </div>
      <div className="card-text">
        <h2 className="card-title">
          <Link to={`/games/${game.slug}`} className="card-link">
            {game.title}
          </Link>
        </h2>
        <p className="card-developer">{game.developer}</p>
        {game.tags.length > 0 && <p className="card-tags">{game.tags.slice(0, 3).join(" · ")}</p>}
      </div>
      <FavoriteButton gameId={game.id} title={game.title} isFavorite={game.isFavorite} />
    </article>
  );
});

/** A placeholder of a card's shape, shown while the games are loaded. */
export function CardSkeleton() {
  return (
    <div className="card card-skeleton" aria-hidden="true">
      <div className="card-art" />
      <div className="card-text">
        <span />
        <span />
      </div>
    </div>
  );
}
