import { memo } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { useMutation } from "@tanstack/react-query";
import type { GameListItem } from "#contracts/http/catalog.ts";
import { describeError } from "../client/apiError.ts";
import { toggleFavorite } from "../client/catalog.ts";
import { Icon } from "../components/Icon.tsx";
import { GameArt } from "./GameArt.tsx";
import { keepFavorite } from "./useCatalog.ts";

/** One game of the catalogue. The whole card links to the game; the favourite button is on top of it. */
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

/** A placeholder in the shape of a card, shown while games are loading. */
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

/**
 * Marks a game as a favourite: first on the page, then on the server. After a failure it restores the former
 * state and shows the reason.
 */
export function FavoriteButton({
  gameId,
  title,
  isFavorite,
}: {
  gameId: string;
  title: string;
  isFavorite: boolean;
}) {
  const { t } = useTranslation("catalog");
  const toggle = useMutation<boolean, Error, boolean>({
    mutationFn: () => toggleFavorite(gameId),
    onSuccess: (isNow, _wasMarked, _before, { client }) => keepFavorite(client, gameId, isNow),
  });
  const { variables: wasMarked = isFavorite } = toggle;
  const isMarked = toggle.isPending ? !wasMarked : (toggle.data ?? wasMarked);
  return (
    <>
      <button
        type="button"
        className="favorite"
        aria-pressed={isMarked}
        aria-label={t("favorite.label", { title })}
        title={isMarked ? t("favorite.remove") : t("favorite.add")}
        aria-disabled={toggle.isPending}
        onClick={() => toggle.isPending || toggle.mutate(isMarked)}
      >
        <Icon name="heart" />
      </button>
      {toggle.error !== null && (
        <p className="message message-problem" role="alert">
          {describeError(toggle.error)}
        </p>
      )}
    </>
  );
}
