import { z } from "zod";
import { limits } from "../limits.ts";
import { line, opaqueId, slug } from "./text.ts";

const { catalog } = limits;

/** Positive integers as plain digits: coercion would also take `1e3`, `0x10` and arrays. */
const pageNumber = z.string().regex(/^\d{1,6}$/, "must be a whole number").transform(Number).pipe(z.int().min(1));

/** Query of `GET /api/games`, as strings; a `limit` above the maximum is cut to it. */
export const GamesQuery = z.strictObject({
  page: pageNumber.default(catalog.pageDefault),
  limit: pageNumber.transform((size) => Math.min(size, catalog.pageSizeMax)).default(catalog.pageSizeDefault),
  search: line(catalog.searchMaxLength).trim().optional(),
  tag: line(limits.partner.tagMaxLength).trim().optional(),
  sort: z.enum(["title", "createdAt", "popular"]).default("title"),
  order: z.enum(["asc", "desc"]).default("asc"),
});
export type GamesQuery = z.infer<typeof GamesQuery>;

export const GameListItem = z.object({
  id: z.string(),
  slug: z.string(),
  title: z.string(),
  developer: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  /** Address of a picture, or empty. */
  thumbnail: z.string(),
  /** `YYYY-MM-DD`, or empty. */
  releaseDate: z.string(),
  isFavorite: z.boolean(),
});
export type GameListItem = z.infer<typeof GameListItem>;

export const GamesResponse = z.object({
  games: z.array(GameListItem),
  pagination: z.object({ page: z.int(), limit: z.int(), total: z.int(), totalPages: z.int() }),
});
export type GamesResponse = z.infer<typeof GamesResponse>;

/** One of a game's three slots; the three nullable fields are null together, when it is empty. */
export const SaveSlot = z.object({
  id: z.string().nullable(),
  slotNumber: z.int().min(1).max(limits.saveSlotsPerGame),
  label: z.string().nullable(),
  lastPlayedAt: z.iso.datetime().nullable(),
});
export type SaveSlot = z.infer<typeof SaveSlot>;

export const GameDetail = GameListItem.extend({
  screenshots: z.array(z.string()),
  contentRating: z.string(),
  languages: z.array(z.string()),
  website: z.string(),
  saveSlots: z.array(SaveSlot).length(limits.saveSlotsPerGame),
});
export type GameDetail = z.infer<typeof GameDetail>;

export const GameParams = z.object({ slug });

export const FavoriteRequest = z.strictObject({ gameId: opaqueId });
export type FavoriteRequest = z.infer<typeof FavoriteRequest>;

export const FavoriteResponse = z.object({ status: z.enum(["added", "removed"]), gameId: z.string() });
export type FavoriteResponse = z.infer<typeof FavoriteResponse>;
