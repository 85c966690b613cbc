import { KeptQuality, StreamQualityResponse } from "#contracts/http/streamQuality.ts";
import type { SiteBounds } from "#contracts/streamQuality.ts";
import type { UserDeps } from "../auth/requireUser.ts";
import { userRouteFor } from "../auth/userRoute.ts";
import type { Postgres } from "../stores/postgres.ts";
import { findKeptQuality, updateKeptQuality } from "./keptQualityQueries.ts";

/** What these routes need. */
type QualityDeps = UserDeps & { postgres: Postgres; config: { gameSession: { stream: SiteBounds } } };

const route = userRouteFor<QualityDeps>();
const path = "/api/account/stream-quality";

const showQuality = route({
  method: "GET",
  path,
  name: "getStreamQuality",
  summary: "Show one's choice of quality",
  limits: ["catalog"],
  responses: { 200: StreamQualityResponse },
  errors: [],
  handle: async ({ ctx, deps, user }) => {
    ctx.body = presentQualityChoice(
      await findKeptQuality(deps.postgres.pool, user.id),
      deps.config.gameSession.stream,
    );
  },
});

const chooseQuality = route({
  method: "PUT",
  path,
  name: "setStreamQuality",
  summary: "Choose the quality of the picture",
  description:
    "Of the launches to come, unless one says otherwise. A session that runs changes its own by a message on its data channel.",
  limits: ["account"],
  body: KeptQuality,
  responses: { 200: StreamQualityResponse },
  errors: [],
  handle: async ({ ctx, deps, user, body }) => {
    await updateKeptQuality(deps.postgres.pool, user.id, body);
    ctx.body = presentQualityChoice(body, deps.config.gameSession.stream);
  },
});

function presentQualityChoice(
  quality: KeptQuality,
  { maxWidth, maxHeight, maxFps, maxKbps }: SiteBounds,
): StreamQualityResponse {
  return { quality, maximum: { width: maxWidth, height: maxHeight, fps: maxFps, maxKbps } };
}

/** Routes by which players choose the quality of their picture. */
export const qualityRoutes = [showQuality, chooseQuality];
