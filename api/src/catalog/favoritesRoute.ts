import { FavoriteRequest, FavoriteResponse } from "#contracts/http/catalog.ts";
import { notFound } from "../errors.ts";
import { remembering } from "../http/idempotency.ts";
import { userRouteFor } from "../auth/userRoute.ts";
import { toggleFavorite } from "./favorites.ts";

const toggle = userRouteFor()({
  method: "POST",
  path: "/api/favorites",
  name: "toggleFavorite",
  summary: "Mark a game, or take the mark away",
  description: "Each request turns the mark over. A request that may be sent twice needs an `Idempotency-Key`.",
  limits: ["catalog"],
  body: FavoriteRequest,
  responses: { 200: FavoriteResponse },
  errors: ["not_found"],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, body: { gameId } }) => {
    const answer = await toggleFavorite(deps.postgres, user.id, gameId, remembering(ctx, 200));
    if (answer === undefined) throw notFound("There is no such game.");
    ctx.body = answer;
  },
});

export const favoriteRoutes = [toggle];
