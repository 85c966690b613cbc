import { GameDetail, GameParams, GamesQuery, GamesResponse } from "#contracts/http/catalog.ts";
import { notFound } from "../errors.ts";
import { presentGame, presentGames } from "./present.ts";
import { respondCacheable, respondCacheableText } from "../http/response.ts";
import { cacheable } from "../http/responses.ts";
import { userRouteFor } from "../auth/userRoute.ts";
import { findCatalogGame, listCatalog } from "./catalog.ts";
import type { CatalogCounts } from "./catalogCounts.ts";

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
    respondCacheableText(ctx, presentGames(await listCatalog(deps.postgres.pool, user.id, query, deps.catalogCounts), query));
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
    const game = await findCatalogGame(deps.postgres.pool, user.id, params.slug);
    if (game === undefined) throw notFound("There is no such game.");
    respondCacheable(ctx, presentGame(game));
  },
});

export const gameRoutes = [list, detail];
