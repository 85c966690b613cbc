import type { GameDetail, GamesQuery, GamesResponse, SaveSlot } from "#contracts/http/catalog.ts";
import { defaultChannel } from "#contracts/http/gameChannels.ts";
import { limits } from "#contracts/limits.ts";
import type { CatalogPage } from "./catalogFilters.ts";
import type { CatalogDetail } from "./catalogQueries.ts";

/** Returns a page of the catalogue as the JSON text of a `GamesResponse`. */
export function presentGames({ gamesJson, total }: CatalogPage, { page, limit }: GamesQuery): string {
  const pagination: GamesResponse["pagination"] = {
    page,
    limit,
    total,
    totalPages: Math.ceil(total / limit),
  };
  return `{"games":${gamesJson},"pagination":${JSON.stringify(pagination)}}`;
}

/** Returns a game with all its details, always with three slots. */
export function presentGame({ slots, channels, ...game }: CatalogDetail): GameDetail {
  return {
    ...game,
    ...(channels.some((name) => name !== defaultChannel) && { channels }),
    saveSlots: Array.from({ length: limits.saveSlotsPerGame }, (_, index) => presentSlot(slots, index + 1)),
  };
}

function presentSlot(slots: CatalogDetail["slots"], slotNumber: number): SaveSlot {
  const slot = slots.find(({ number }) => number === slotNumber);
  if (slot === undefined) return { id: null, slotNumber, label: null, lastPlayedAt: null };
  return {
    id: slot.id,
    slotNumber,
    label: slot.label,
    lastPlayedAt: new Date(slot.lastPlayedAt).toISOString(),
  };
}
