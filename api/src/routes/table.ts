import type { Route } from "../routing/route.ts";
import { authRoutes } from "./auth.ts";
import { favoriteRoutes } from "./favorites.ts";
import { gameRoutes } from "./games.ts";
import { healthRoutes } from "./health.ts";

/** Every route there is. */
export const routes: readonly Route[] = [
  ...healthRoutes,
  ...authRoutes,
  ...gameRoutes,
  ...favoriteRoutes,
];
