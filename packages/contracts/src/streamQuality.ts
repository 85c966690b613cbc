/**
 * The quality of a session's picture: what a player may ask for, and what that becomes within the bounds of a
 * site and a session.
 */
import { z } from "zod";

/** What may be asked for at all; a site's maximum lies within. */
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
    "`auto` is the site's own choice, `lowLatency` sends as many pictures as allowed with the least delay, `sharp` sends the largest picture and takes a little" +
    " more time for it, `dataSaver` sends a small one of 30 pictures and at most 1500 kbit/s a second.",
});
export type QualityPreset = z.infer<typeof QualityPreset>;

const { width, height, fps, kbps } = pictureRanges;
const inRange = ({ min, max }: { min: number; max: number }) => z.int().min(min).max(max);

/** The fields of a wish, which stand for those of the preset. */
export const qualityFields = {
  preset: QualityPreset.optional().meta({
    description: "Decides what the other fields do not say; `auto` when absent.",
  }),
  width: inRange(width).optional().meta({
    description:
      "The picture is no wider; with `height` only. It keeps the proportions that the game's display begins with.",
  }),
  height: inRange(height).optional().meta({ description: "The picture is no higher; with `width` only." }),
  fps: inRange(fps).optional().meta({ description: "Pictures a second, at most." }),
  maxKbps: inRange(kbps)
    .optional()
    .meta({ description: "Of the video, in kbit/s: the bitrate follows the connection below it." }),
};

/** Whether a wish has both sides of the picture, or none. */
export const hasBothSides: [
  (wish: Pick<QualityWish, "width" | "height">) => boolean,
  { path: string[]; error: string },
] = [
  (wish) => (wish.width === undefined) === (wish.height === undefined),
  { path: ["height"], error: "goes together with width: give both or none" },
];

/** What a player asks for; what is larger than the maximum is lowered to it. */
export interface QualityWish {
  preset?: QualityPreset | undefined;
  width?: number | undefined;
  height?: number | undefined;
  fps?: number | undefined;
  maxKbps?: number | undefined;
}

/** What holds. */
export const StreamQuality = z.object({
  preset: QualityPreset,
  width: z.int().meta({ examples: [1280] }),
  height: z.int().meta({ examples: [720] }),
  fps: z.int().meta({ description: "Pictures a second, at most.", examples: [60] }),
  maxKbps: z.int().meta({ description: "Of the video, in kbit/s, at most.", examples: [8000] }),
});
export type StreamQuality = z.infer<typeof StreamQuality>;

/** The most that can be asked for. */
export const QualityMaximum = z.object({
  width: z.int().meta({ examples: [1280] }),
  height: z.int().meta({ examples: [720] }),
  fps: z.int().meta({ examples: [60] }),
  maxKbps: z.int().meta({ examples: [8000] }),
});
export type QualityMaximum = z.infer<typeof QualityMaximum>;

/** The bounds of one session. */
export interface QualityBounds {
  /** The game's display as it begins; the picture sent is never larger. */
  width: number;
  height: number;
  /** Pictures a second of the presets that name no rate of their own. */
  fps: number;
  maxFps: number;
  maxKbps: number;
}

/** The bounds of a site, and what a launch without a wish gets. */
export interface SiteBounds extends QualityBounds {
  /** The largest display that a launch may ask for. */
  maxWidth: number;
  maxHeight: number;
}

/** What a preset says; `Infinity` is the maximum, and undefined is the site's own choice. */
const presets: Record<
  QualityPreset,
  { width: number; height: number; fps: number | undefined; maxKbps: number }
> = {
  auto: { width: Infinity, height: Infinity, fps: undefined, maxKbps: Infinity },
  lowLatency: { width: Infinity, height: Infinity, fps: Infinity, maxKbps: Infinity },
  sharp: { width: Infinity, height: Infinity, fps: undefined, maxKbps: Infinity },
  dataSaver: { width: 854, height: 480, fps: 30, maxKbps: 1_500 },
};

/** Below this encoders in hardware refuse; a picture has borders rather than that. */
const smallestPicture = { width: 160, height: 90 };

/** Returns what holds when a player asks for this in a session of these bounds. */
export function qualityWithin(wish: QualityWish, bounds: QualityBounds): StreamQuality {
  const preset = wish.preset ?? "auto";
  const own = presets[preset];
  return {
    preset,
    ...fit(bounds, { width: wish.width ?? own.width, height: wish.height ?? own.height }, smallestPicture),
    fps: Math.min(wish.fps ?? own.fps ?? bounds.fps, bounds.maxFps),
    maxKbps: Math.min(wish.maxKbps ?? own.maxKbps, bounds.maxKbps),
  };
}

/**
 * Returns the bounds of a session that is launched with this wish. Only the game itself changes its display's
 * size later. It is the site's own size, or the wished one where that is larger, so that a game that begins
 * with a small picture can be given a larger one.
 */
export function sessionBounds(
  { preset, width: wishedWidth, height: wishedHeight }: QualityWish,
  site: SiteBounds,
): QualityBounds {
  const largest = { width: site.maxWidth, height: site.maxHeight };
  const { fps: siteFps, maxFps, maxKbps } = site;
  const isLarger =
    wishedWidth !== undefined &&
    wishedHeight !== undefined &&
    (wishedWidth > site.width || wishedHeight > site.height);
  const display = isLarger
    ? fit({ width: wishedWidth, height: wishedHeight }, largest, { width: width.min, height: height.min })
    : preset === "sharp" && wishedWidth === undefined
      ? largest
      : { width: site.width, height: site.height };
  return { ...display, fps: siteFps, maxFps, maxKbps };
}

interface Size {
  width: number;
  height: number;
}

/**
 * Returns the largest size of these proportions inside the box that is not above the size itself; even,
 * because encoders need it.
 */
function fit(size: Size, box: Size, smallest: Size): Size {
  const scale = Math.min(1, box.width / size.width, box.height / size.height);
  const even = (length: number) => 2 * Math.round((length * scale) / 2);
  return {
    width: Math.max(smallest.width, even(size.width)),
    height: Math.max(smallest.height, even(size.height)),
  };
}

/** Sound, and what RTP, SRTP and UDP add to sound and picture. */
const soundKbps = 150;
const headerShare = 1.05;
const megabytesPerHourOfOneKbps = 3_600 / 8 / 1_000;

/**
 * Returns how much a session with this cap of its video takes at most, in MB an hour, headers and sound
 * included; rounded up to tens.
 */
export function megabytesPerHour(maxKbps: number): number {
  return 10 * Math.ceil(((maxKbps * headerShare + soundKbps) * megabytesPerHourOfOneKbps) / 10);
}
