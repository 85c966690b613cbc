/** The quality of a session's video: what a player can request, and what the site and the session allow. */
import { z } from "zod";

/** Absolute limits. The maximum of a site is within them. */
export const pictureRanges = {
  width: { min: 320, max: 3840 },
  height: { min: 240, max: 2160 },
  fps: { min: 15, max: 120 },
  kbps: { min: 300, max: 100_000 },
} as const;

export const qualityPresets = ["auto", "lowLatency", "sharp", "dataSaver"] as const;
export const QualityPreset = z.enum(qualityPresets).meta({
  id: "QualityPreset",
  description:
    "`auto` uses the site's default. `lowLatency` sends the highest allowed frame rate with the least delay. `sharp` sends the largest picture" +
    " with slightly more delay. `dataSaver` sends a small picture at 30 frames per second and at most 1500 kbit/s.",
});
export type QualityPreset = z.infer<typeof QualityPreset>;

const { width, height, fps, kbps } = pictureRanges;
const inRange = ({ min, max }: { min: number; max: number }) => z.int().min(min).max(max);

/** The fields of a request. Each one overrides the preset. */
export const qualityFields = {
  preset: QualityPreset.optional().meta({
    description: "Sets the fields that the request leaves out. Defaults to `auto`.",
  }),
  width: inRange(width).optional().meta({
    description:
      "Maximum width of the picture in pixels. Requires `height`. The picture keeps the aspect ratio that the game's display starts with.",
  }),
  height: inRange(height)
    .optional()
    .meta({ description: "Maximum height of the picture in pixels. Requires `width`." }),
  fps: inRange(fps).optional().meta({ description: "Maximum frame rate." }),
  maxKbps: inRange(kbps).optional().meta({
    description: "Maximum video bitrate in kbit/s. The actual bitrate follows the connection.",
  }),
};

/** Refinement of a request: width and height are both given or both absent. */
export const hasBothSides: [
  (request: { width?: number | undefined; height?: number | undefined }) => boolean,
  { path: string[]; error: string },
] = [
  (request) => (request.width === undefined) === (request.height === undefined),
  { path: ["height"], error: "goes together with width: give both or none" },
];

/**
 * The quality that a player requests, and saves as their choice. Values above the site's maximum are saved as
 * they are and lowered when they are used.
 */
export const QualityRequest = z
  .strictObject(qualityFields)
  .refine(...hasBothSides)
  .meta({
    id: "KeptQuality",
    description:
      "The picture quality that a player requests. Values above the site's maximum are lowered to it when a game is launched.",
  });
export type QualityRequest = z.infer<typeof QualityRequest>;

/** `quality` of a launch. */
export const LaunchQuality = z
  .strictObject({
    ...qualityFields,
    startKbps: inRange(kbps).optional().meta({
      description: "Video bitrate in kbit/s before the connection has been measured.",
    }),
  })
  .refine(...hasBothSides)
  .meta({
    id: "LaunchQuality",
    description:
      "Values above the site's maximum are lowered to it. The session's status shows the resulting quality.",
  });
export type LaunchQuality = z.infer<typeof LaunchQuality>;

/** The quality of a stream, with every field set. */
export const StreamQuality = z.object({
  preset: QualityPreset,
  width: z.int().meta({ examples: [1280] }),
  height: z.int().meta({ examples: [720] }),
  fps: z.int().meta({ description: "Maximum frame rate.", examples: [60] }),
  maxKbps: z.int().meta({ description: "Maximum video bitrate in kbit/s.", examples: [8000] }),
});
export type StreamQuality = z.infer<typeof StreamQuality>;

/** The highest quality that a player can request. */
export const QualityMaximum = z.object({
  width: z.int().meta({ examples: [1280] }),
  height: z.int().meta({ examples: [720] }),
  fps: z.int().meta({ examples: [60] }),
  maxKbps: z.int().meta({ examples: [8000] }),
});
export type QualityMaximum = z.infer<typeof QualityMaximum>;

/** The saved choice in a response, which may gain fields. */
const ChosenQuality = z
  .object(qualityFields)
  .meta({ id: "ChosenQuality", description: "The player's choice, which applies to launches without one." });

/** `GET` and `PUT /api/account/stream-quality`. */
export const StreamQualityResponse = z
  .object({
    quality: ChosenQuality,
    maximum: QualityMaximum.meta({ description: "The highest quality that the site sends." }),
  })
  .meta({ id: "StreamQualityChoice", description: "The player's choice of quality." });
export type StreamQualityResponse = z.infer<typeof StreamQualityResponse>;

/** The limits of one session. */
export interface QualityBounds {
  /** Initial width of the game's display. The video is never wider. */
  width: number;
  /** Initial height of the game's display. The video is never higher. */
  height: number;
  /** Frame rate of presets that do not define one. */
  fps: number;
  maxFps: number;
  maxKbps: number;
}

/** The limits of a site, and the defaults of a launch without a request. */
export interface SiteBounds extends QualityBounds {
  /** Width of the largest display that a launch can request. */
  maxWidth: number;
  maxHeight: number;
}

/** Values of a preset. `Infinity` is the session's maximum; undefined is the site's default. */
const presets: Record<
  QualityPreset,
  { width: number; height: number; fps: number | undefined; maxKbps: number }
> = {
  auto: { width: Infinity, height: Infinity, fps: undefined, maxKbps: Infinity },
  lowLatency: { width: Infinity, height: Infinity, fps: Infinity, maxKbps: Infinity },
  sharp: { width: Infinity, height: Infinity, fps: undefined, maxKbps: Infinity },
  dataSaver: { width: 854, height: 480, fps: 30, maxKbps: 1_500 },
};

/** Hardware encoders refuse smaller pictures. A smaller picture gets borders. */
const smallestPicture = { width: 160, height: 90 };

/** Returns the quality that a request gets in a session with these limits. */
export function qualityWithin(request: QualityRequest, bounds: QualityBounds): StreamQuality {
  const preset = request.preset ?? "auto";
  const defaults = presets[preset];
  return {
    preset,
    ...fit(
      bounds,
      { width: request.width ?? defaults.width, height: request.height ?? defaults.height },
      smallestPicture,
    ),
    fps: Math.min(request.fps ?? defaults.fps ?? bounds.fps, bounds.maxFps),
    maxKbps: Math.min(request.maxKbps ?? defaults.maxKbps, bounds.maxKbps),
  };
}

/**
 * Returns the limits of a session that is launched with this request. The display has the site's default
 * size, or the requested size if that is larger, so that a game that starts with a small picture can still
 * get a larger one: after the start, only the game itself changes the size of its display.
 */
export function sessionBounds(
  { preset, width: requestedWidth, height: requestedHeight }: QualityRequest,
  site: SiteBounds,
): QualityBounds {
  const largest = { width: site.maxWidth, height: site.maxHeight };
  const { fps: siteFps, maxFps, maxKbps } = site;
  const isLarger =
    requestedWidth !== undefined &&
    requestedHeight !== undefined &&
    (requestedWidth > site.width || requestedHeight > site.height);
  const display = isLarger
    ? fit({ width: requestedWidth, height: requestedHeight }, largest, {
        width: width.min,
        height: height.min,
      })
    : preset === "sharp" && requestedWidth === undefined
      ? largest
      : { width: site.width, height: site.height };
  return { ...display, fps: siteFps, maxFps, maxKbps };
}

interface Size {
  width: number;
  height: number;
}

/**
 * Returns the largest size with this aspect ratio that is within the box and not above the size itself. Both
 * sides are even, because encoders require it.
 */
function fit(size: Size, box: Size, smallest: Size): Size {
  const scale = Math.min(1, box.width / size.width, box.height / size.height);
  const even = (length: number) => 2 * Math.round((length * scale) / 2);
  return {
    width: Math.max(smallest.width, even(size.width)),
    height: Math.max(smallest.height, even(size.height)),
  };
}

const soundKbps = 150;
/** Overhead of RTP, SRTP and UDP headers. */
const headerShare = 1.05;
const megabytesPerHourOfOneKbps = 3_600 / 8 / 1_000;

/**
 * Returns the maximum data use of a session with this video bitrate, in MB per hour, including headers and
 * sound, rounded up to tens.
 */
export function megabytesPerHour(maxKbps: number): number {
  return 10 * Math.ceil(((maxKbps * headerShare + soundKbps) * megabytesPerHourOfOneKbps) / 10);
}
