import { PlayLimitsResponse } from "#contracts/http/playLimits.ts";
import { userRouteFor } from "../../auth/requireUser.ts";
import type { Deps } from "../../deps.ts";
import type { Route } from "../../http/route.ts";
import { readPlayLimits } from "./playAllowance.ts";

const list = userRouteFor<Deps>()({
  method: "GET",
  path: "/api/game/play-limits",
  name: "listPlayLimits",
  summary: "List the limits of the player's play time",
  description:
    "How long the player may play per day and month, and what is left. A launch without time left is 429 `play_limit_reached`.",
  limits: ["poll"],
  responses: { 200: PlayLimitsResponse },
  errors: [],
  handle: async ({ ctx, deps, user }) => {
    ctx.body = { limits: await readPlayLimits(deps, user.id) } satisfies PlayLimitsResponse;
  },
});

/** The limits of the player's play time. */
export const playLimitRoutes: readonly Route<Deps>[] = [list];
