import type { Config } from "../config.ts";
import type { Route } from "../routing/route.ts";
import { authRoutes } from "./auth.ts";
import { authMethodRoutes } from "./authMethods.ts";
import { authPageRoutes } from "./authPages.ts";
import { authProviderRoutes } from "./authProviders.ts";
import { favoriteRoutes } from "./favorites.ts";
import { gameRoutes } from "./games.ts";
import { gameSessionRoutes } from "./gameSessions.ts";
import { healthRoutes } from "./health.ts";
import { withDocument } from "./openapi.ts";
import { partnerRoutes } from "./partners.ts";
import { streamRoutes } from "./stream.ts";

/** Every route for players and partners. */
const routes: readonly Route[] = [
  ...authRoutes,
  ...authProviderRoutes,
  ...authMethodRoutes,
  ...authPageRoutes,
  ...gameRoutes,
  ...favoriteRoutes,
  ...gameSessionRoutes,
  ...partnerRoutes,
  ...streamRoutes,
];

/** Every route that this configuration serves. */
export function createRoutes(config: Config): readonly Route[] {
  const served = [...config.serves.health ? healthRoutes : [], ...routes];
  return config.serves.document ? withDocument(served, config) : served;
}
