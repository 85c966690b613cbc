import type { Route } from "../routing/route.ts";
import { authRoutes } from "./auth.ts";
import { authPageRoutes } from "./authPages.ts";
import { favoriteRoutes } from "./favorites.ts";
import { gameRoutes } from "./games.ts";
import { gameSessionRoutes } from "./gameSessions.ts";
import { healthRoutes } from "./health.ts";
import { partnerRoutes } from "./partners.ts";
import { streamRoutes } from "./stream.ts";

/** Every route there is. */
export const routes: readonly Route[] = [
  ...healthRoutes,
  ...authRoutes,
  ...authPageRoutes,
  ...gameRoutes,
  ...favoriteRoutes,
  ...gameSessionRoutes,
  ...partnerRoutes,
  ...streamRoutes,
];
