import {
  FavoriteRequest,
  FavoriteResponse,
  GameDetail,
  GameParams,
  GamesQuery,
  GamesResponse,
} from "#contracts/http/catalog.ts";
import { notFound, DomainError } from "../errors.ts";
import { presentGame, presentGames } from "./present.ts";
import { respondCacheable, respondCacheableText } from "../http/respondCacheable.ts";
import { createRemember } from "../http/idempotency.ts";
import { cacheable } from "../http/responses.ts";
import type { Route } from "../http/route.ts";
import { userRouteFor } from "../auth/requireUser.ts";
import { findCatalogGame, listCatalogGames, updateFavorite } from "./catalogQueries.ts";
import type { Postgres } from "../stores/postgres.ts";
import type { Queryable } from "../stores/queryable.ts";
import { pictureAddress } from "../games/present.ts";
import type { Deps } from "../deps.ts";

/** Each retry means that another request toggled the same favourite at the same time. */
const attemptsMax = 100;

const route = userRouteFor<Deps>();

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
    if (game === undefined) throw notFound("This game does not exist.");
    respondCacheable(ctx, presentGame(game));
  },
});

const favorite = route({
  method: "POST",
  path: "/api/favorites",
  name: "toggleFavorite",
  summary: "Toggle a favorite",
  description:
    "Each request adds or removes the favorite. Use an `Idempotency-Key` for requests that may be retried.",
  limits: ["catalog"],
  body: FavoriteRequest,
  responses: { 200: FavoriteResponse },
  errors: ["not_found"],
  isIdempotent: true,
  handle: async ({ ctx, deps, user, body: { gameId } }) => {
    const toggled = await toggleFavorite(deps.postgres, user.id, gameId, createRemember(ctx, 200));
    if (toggled === undefined) throw notFound("This game does not exist.");
    ctx.body = toggled;
  },
});

/** The catalogue, its games and the player's favourites. */
export const catalogRoutes: readonly Route<Deps>[] = [list, detail, favorite];

/**
 * Adds the game to the user's favourites, or removes it; returns undefined if it is not in the catalogue.
 * Concurrent requests of one user take effect one after another, so an even number of them changes nothing.
 * `inTransaction` runs in the same transaction.
 *
 * @throws DomainError `conflict` if other requests interfere every time.
 */
async function toggleFavorite(
  { pool, transaction }: Pick<Postgres, "pool" | "transaction">,
  userId: string,
  gameId: string,
  inTransaction?: (toggled: FavoriteResponse, transaction: Queryable) => Promise<void>,
): Promise<FavoriteResponse | undefined> {
  if (inTransaction === undefined) return toggle(pool, userId, gameId);
  return transaction(async (client) => {
    const toggled = await toggle(client, userId, gameId);
    if (toggled !== undefined) await inTransaction(toggled, client);
    return toggled;
  });
}

async function toggle(db: Queryable, userId: string, gameId: string): Promise<FavoriteResponse | undefined> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const { isListed, isRemoved, isAdded } = await updateFavorite(db, userId, gameId);
    if (!isListed) return undefined;
    if (isRemoved) return { status: "removed", gameId };
    if (isAdded) return { status: "added", gameId };
    // The favourite was absent when removing it, but present when adding it.
  }
  throw new DomainError("conflict", {
    message: "Too many changes to this favorite at once. Try again in a moment.",
    retryAfterSeconds: 1,
  });
}
