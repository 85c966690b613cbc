import { FavoriteRequest, FavoriteResponse } from "#contracts/http/catalog.ts";
import { notFound } from "../errors.ts";
import { userRoute } from "../routing/route.ts";
import { toggleFavorite } from "../stores/favorites.ts";

const toggle = userRoute({
  method: "POST",
  path: "/api/favorites",
  name: "toggleFavorite",
  summary: "Mark a game, or take the mark away",
  limits: ["catalog"],
  body: FavoriteRequest,
  answers: { 200: FavoriteResponse },
  errors: ["not_found"],
  handle: async ({ ctx, deps, user, body: { gameId } }) => {
    const status = await toggleFavorite(deps.postgres, user.id, gameId);
    if (status === undefined) throw notFound("There is no such game.");
    ctx.body = { status, gameId } satisfies FavoriteResponse;
  },
});

export const favoriteRoutes = [toggle];
