import { useState } from "react";
import { toggleFavorite } from "../client/api.ts";
import { useAuth } from "../signIn/useAuth.tsx";
import { Icon } from "../components/Icon.tsx";

/** Marks a game as a favourite, at once on the page and then on the server; turned back when the server refuses. */
export function FavoriteButton({ gameId, title, isFavorite, onChange }: {
  gameId: string;
  title: string;
  isFavorite: boolean;
  onChange: (isFavorite: boolean) => void;
}) {
  const { noticeError } = useAuth();
  const [isBusy, setIsBusy] = useState(false);

  const toggle = async (): Promise<void> => {
    setIsBusy(true);
    onChange(!isFavorite);
    try {
      onChange(await toggleFavorite(gameId));
    } catch (error) {
      onChange(isFavorite);
      noticeError(error);
    } finally {
      setIsBusy(false);
    }
  };

  return (
    <button
      type="button"
      className="favorite"
      aria-pressed={isFavorite}
      aria-label={`Favourite: ${title}`}
      title={isFavorite ? "Remove from favourites" : "Add to favourites"}
      aria-disabled={isBusy}
      onClick={() => isBusy || void toggle()}
    >
      <Icon name="heart" />
    </button>
  );
}
