import { GameDetail, GameParams, GamesQuery, GamesResponse } from "#contracts/http/catalog.ts";
import { notFound } from "../errors.ts";
import { presentGame, presentGames } from "../presenters/catalog.ts";
import { answerCacheable, answerCacheableText } from "../routing/answer.ts";
import { cacheable } from "../routing/answers.ts";
import { userRoute } from "../routing/route.ts";
import { findCatalogGame, listCatalog } from "../stores/catalog.ts";

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
