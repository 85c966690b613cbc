import {
  FavoriteRequest,
  FavoriteResponse,
  GameDetail,
  GameParams,
  GamesQuery,
  GamesResponse,
} from "#contracts/http/catalog.ts";
import { notFound } from "../errors.ts";
import { presentGame, presentGames } from "./present.ts";
import { respondCacheable, respondCacheableText } from "../http/respondCacheable.ts";
import { remembering } from "../http/idempotency.ts";
import { cacheable } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { type UserDeps, userRouteFor } from "../auth/requireUser.ts";
import { findCatalogGame, listCatalogGames } from "./catalogQueries.ts";
import type { CatalogCounts } from "./catalogCounts.ts";
import { pictureAddress } from "../games/present.ts";
import { toggleFavorite } from "./toggleFavorite.ts";

const route = userRouteFor<{ catalogCounts: CatalogCounts }>();

const list = route({
  method: "GET",
  path: "/api/games",
  name: "listGames",
  summary: "List and search games",
  limits: ["catalog"],
  query: GamesQuery,
  responses: cacheable(GamesResponse),
  errors: [],
  handle: async ({ ctx, deps, user, query }) => {
    respondCacheableText(
      ctx,
      presentGames(
        await listCatalogGames(
          deps.postgres.pool,
          user.id,
          query,
          deps.catalogCounts,
          pictureAddress(deps.config, ""),
        ),
        query,
      ),
    );
  },
});

const detail = route({
  method: "GET",
  path: "/api/games/:slug",
  name: "getGame",
  summary: "Show a game",
  limits: ["catalog"],
  params: GameParams,
  responses: cacheable(GameDetail),
  errors: [],
  handle: async ({ ctx, deps, user, params }) => {
    const game = await findCatalogGame(
      deps.postgres.pool,
      user.id,
      params.slug,
      pictureAddress(deps.config, ""),
    );
    if (game === undefined) throw notFound("There is no such game.");
    respondCacheable(ctx, presentGame(game));
  },
});

const favorite = route({
  method: "POST",
  path: "/api/favorites",
  name: "toggleFavorite",
  summary: "Mark a game, or take the mark away",
  description:
    "Each request turns the mark over. A request that may be sent twice needs an `Idempotency-Key`.",
  limits: ["catalog"],
  body: FavoriteRequest,
  responses: { 200: FavoriteResponse },
  errors: ["not_found"],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, body: { gameId } }) => {
    const toggled = await toggleFavorite(deps.postgres, user.id, gameId, remembering(ctx, 200));
    if (toggled === undefined) throw notFound("There is no such game.");
    ctx.body = toggled;
  },
});

/** The catalogue, its games and the player's favourites. */
export const catalogRoutes: readonly Route<UserDeps & { catalogCounts: CatalogCounts }>[] = [
  list,
  detail,
  favorite,
];
