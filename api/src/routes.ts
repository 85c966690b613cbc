import type { Config } from "./config.ts";
import type { Deps } from "./deps.ts";
import type { Route } from "./http/route.ts";
import { qualityRoutes, accountRoutes } from "./accounts/routes.ts";
import { accountLinkRoutes } from "./accounts/links/routes.ts";
import { profileRoutes } from "./accounts/profile/routes.ts";
import { authRoutes, authMethodRoutes } from "./auth/routes.ts";
import { authPageRoutes } from "./auth/authPages.ts";
import { authProviderRoutes } from "./auth/oauth/routes.ts";
import { catalogRoutes } from "./catalog/routes.ts";
import { connectionTestRoutes } from "./connectionTests/routes.ts";
import { historyRoutes } from "./gameSessions/history/routes.ts";
import { playLimitRoutes } from "./gameSessions/playLimits/routes.ts";
import { runRoutes } from "./gameSessions/runs/routes.ts";
import { gameSessionRoutes } from "./gameSessions/sessions/routes.ts";
import { healthRoutes } from "./http/health.ts";
import { withDocument } from "./http/openapi/route.ts";
import { maintenanceRoutes } from "./maintenance/routes.ts";
import { saveLinkRoutes } from "./saves/linkRoutes.ts";
import { saveRoutes } from "./saves/routes.ts";
import { pictureRoutes } from "./games/pictures/routes.ts";
import { resumableRoutes } from "./games/resumable/routes.ts";
import { channelRoutes } from "./games/channels/routes.ts";
import { verificationRoutes } from "./games/verification/routes.ts";
import { versionRoutes } from "./games/versions/routes.ts";
import { partnerRoutes } from "./games/routes.ts";
import { streamRoutes } from "./stream/routes.ts";
import { webhookRoutes } from "./webhooks/routes.ts";

/** All routes for players and partners. */
const routes: readonly Route<Deps>[] = [
  ...authRoutes,
  ...authProviderRoutes,
  ...authMethodRoutes,
  ...authPageRoutes,
  ...accountLinkRoutes,
  ...accountRoutes,
  ...profileRoutes,
  ...qualityRoutes,
  ...catalogRoutes,
  ...saveRoutes,
  ...saveLinkRoutes,
  ...gameSessionRoutes,
  ...historyRoutes,
  ...playLimitRoutes,
  ...partnerRoutes,
  ...resumableRoutes,
  ...versionRoutes,
  ...verificationRoutes,
  ...channelRoutes,
  ...runRoutes,
  ...pictureRoutes,
  ...connectionTestRoutes,
  ...streamRoutes,
  ...maintenanceRoutes,
];

/** Returns the routes that this configuration serves. */
export function createRoutes(config: Config): readonly Route<Deps>[] {
  const served: readonly Route<Deps>[] = [
    ...(config.serves.health ? healthRoutes : []),
    ...routes,
    ...(config.webhooks.isEnabled ? webhookRoutes : []),
  ];
  return config.serves.document ? withDocument(served, config) : served;
}
