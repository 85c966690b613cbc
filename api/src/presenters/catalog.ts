import type { GameDetail, GameListItem, GamesQuery, GamesResponse, SaveSlot } from "#contracts/http/catalog.ts";
import { limits } from "#contracts/limits.ts";
import type { CatalogDetail, CatalogGame, CatalogPage } from "../stores/catalog.ts";

/** A page of the catalogue. */
export function presentGames({ games, total }: CatalogPage, { page, limit }: GamesQuery): GamesResponse {
  return { games: games.map(presentListItem), pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } };
}

/** A game's own page, always with three slots. */
export function presentGame(game: CatalogDetail): GameDetail {
  return {
    ...presentListItem(game),
    screenshots: game.screenshots,
    contentRating: game.contentRating ?? "",
    languages: game.languages,
    website: game.website ?? "",
    saveSlots: Array.from({ length: limits.saveSlotsPerGame }, (_, index) => presentSlot(game, index + 1)),
  };
}

function presentListItem(game: CatalogGame): GameListItem {
  const { id, slug, title, developer, description, tags, thumbnail, releaseDate, isFavorite } = game;
  return { id, slug, title, developer, description, tags, thumbnail: thumbnail ?? "", releaseDate: releaseDate ?? "", isFavorite };
}

function presentSlot({ slots }: CatalogDetail, slotNumber: number): SaveSlot {
  const slot = slots.find(({ number }) => number === slotNumber);
  if (slot === undefined) return { id: null, slotNumber, label: null, lastPlayedAt: null };
  return { id: slot.id, slotNumber, label: slot.label, lastPlayedAt: new Date(slot.lastPlayedAt).toISOString() };
}
