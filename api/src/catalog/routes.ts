import { GameDetail, GameParams, GamesQuery, GamesResponse } from "#contracts/http/catalog.ts";
import { notFound } from "../errors.ts";
import { presentGame, presentGames } from "./present.ts";
import { answerCacheable, answerCacheableText } from "../http/response.ts";
import { cacheable } from "../http/responses.ts";
import { userRoute } from "../http/route.ts";
import { findCatalogGame, listCatalog } from "./catalog.ts";

const list = userRoute({
  method: "GET",
  path: "/api/games",
  name: "listGames",
  summary: "List and search games",
  limits: ["catalog"],
  query: GamesQuery,
  answers: cacheable(GamesResponse),
  errors: [],
  handle: async ({ ctx, deps, user, query }) => {
    answerCacheableText(ctx, presentGames(await listCatalog(deps.postgres.pool, user.id, query, deps.catalogCounts), query));
  },
});

const detail = userRoute({
  method: "GET",
  path: "/api/games/:slug",
  name: "getGame",
  summary: "Show a game",
  limits: ["catalog"],
  params: GameParams,
  answers: cacheable(GameDetail),
  errors: [],
  handle: async ({ ctx, deps, user, params }) => {
    const game = await findCatalogGame(deps.postgres.pool, user.id, params.slug);
    if (game === undefined) throw notFound("There is no such game.");
    answerCacheable(ctx, presentGame(game));
  },
});

export const gameRoutes = [list, detail];
