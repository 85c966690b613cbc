import { useMutation } from "@tanstack/react-query";
import { sentenceFor } from "../client/apiError.ts";
import { toggleFavorite } from "../client/catalog.ts";
import { Icon } from "../components/Icon.tsx";
import { keepFavorite } from "./useCatalog.ts";

/**
 * Marks a game as a favourite: at once on the page, then on the server. A failure turns the mark back, and is
 * told below.
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
        aria-label={`Favourite: ${title}`}
        title={isMarked ? "Remove from favourites" : "Add to favourites"}
        aria-disabled={toggle.isPending}
        onClick={() => toggle.isPending || toggle.mutate(isMarked)}
      >
        <Icon name="heart" />
      </button>
      {toggle.error !== null && (
        <p className="message message-problem" role="alert">
          {sentenceFor(toggle.error)}
        </p>
      )}
    </>
  );
}
