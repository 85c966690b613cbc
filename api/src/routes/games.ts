import { GameParams, GamesQuery } from "#contracts/http/catalog.ts";
import { notFound } from "../errors.ts";
import { presentGame, presentGames } from "../presenters/catalog.ts";
import { answerCacheable } from "../routing/answer.ts";
import { userRoute } from "../routing/route.ts";
import { findCatalogGame, listCatalog } from "../stores/catalog.ts";

const list = userRoute({
  method: "GET",
  path: "/api/games",
  limits: ["catalog"],
  query: GamesQuery,
  handle: async ({ ctx, deps, user, query }) => {
    answerCacheable(ctx, presentGames(await listCatalog(deps.postgres.pool, user.id, query), query));
  },
});

const detail = userRoute({
  method: "GET",
  path: "/api/games/:slug",
  limits: ["catalog"],
  params: GameParams,
  handle: async ({ ctx, deps, user, params }) => {
    const game = await findCatalogGame(deps.postgres.pool, user.id, params.slug);
    if (game === undefined) throw notFound("There is no such game.");
    answerCacheable(ctx, presentGame(game));
  },
});

export const gameRoutes = [list, detail];
