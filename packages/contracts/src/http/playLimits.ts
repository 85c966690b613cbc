import { z } from "zod";
import { isoMoment } from "./text.ts";

/** A limit of the player's play time. */
export const PlayLimit = z
  .object({
    period: z.enum(["day", "month"]),
    limitSeconds: z
      .int()
      .min(1)
      .meta({ examples: [10_800] }),
    playedSeconds: z
      .int()
      .min(0)
      .meta({ description: "Play time in the current period.", examples: [7200] }),
    remainingSeconds: z
      .int()
      .min(0)
      .meta({ examples: [3600] }),
    resetsAt: isoMoment.meta({ description: "When the next period begins." }),
  })
  .meta({ id: "PlayLimit", description: "A limit of the play time per day or month." });
export type PlayLimit = z.infer<typeof PlayLimit>;

export const PlayLimitsResponse = z
  .object({ limits: z.array(PlayLimit).max(2) })
  .meta({ id: "PlayLimits", description: "The limits of the player's play time; empty if there are none." });
export type PlayLimitsResponse = z.infer<typeof PlayLimitsResponse>;

/** A running session's end by a play limit. */
export const playLimitEndsAt = isoMoment.meta({
  description:
    "While `running`: when the session is saved and stopped because the player's play time is used up. Absent if that is later than the site's longest session.",
});
