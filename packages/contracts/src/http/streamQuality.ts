import { z } from "zod";
import { hasBothSides, pictureRanges, qualityFields, QualityMaximum } from "../streamQuality.ts";

/**
 * What a player keeps as their choice; what is larger than the site's maximum is kept, and lowered where it
 * is used.
 */
export const KeptQuality = z
  .strictObject(qualityFields)
  .refine(...hasBothSides)
  .meta({
    id: "KeptQuality",
    description:
      "What a player asks for of the picture. What is larger than the site's maximum is lowered to it when a game is launched.",
  });
export type KeptQuality = z.infer<typeof KeptQuality>;

/** `quality` of a launch. */
export const LaunchQuality = z
  .strictObject({
    ...qualityFields,
    startKbps: z
      .int()
      .min(pictureRanges.kbps.min)
      .max(pictureRanges.kbps.max)
      .optional()
      .meta({ description: "What the video begins with, before the connection is known; in kbit/s." }),
  })
  .refine(...hasBothSides)
  .meta({
    id: "LaunchQuality",
    description:
      "What is larger than the site's maximum is lowered to it; the session's status says what holds.",
  });
export type LaunchQuality = z.infer<typeof LaunchQuality>;

/** What is kept, in a response, which may gain fields. */
const ChosenQuality = z
  .object(qualityFields)
  .meta({ id: "ChosenQuality", description: "The player's choice, for launches that do not say otherwise." });

/** `GET` and `PUT /api/account/stream-quality`. */
export const StreamQualityResponse = z
  .object({
    quality: ChosenQuality,
    maximum: QualityMaximum.meta({ description: "The most that the site sends." }),
  })
  .meta({ id: "StreamQualityChoice", description: "The player's choice of quality." });
export type StreamQualityResponse = z.infer<typeof StreamQualityResponse>;
