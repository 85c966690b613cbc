import { z } from "zod";
import {
  pictureRanges,
  qualityPresets,
  type QualityBounds,
  type QualityPreset,
  type StreamQuality,
} from "../streamQuality.ts";
import { codecEncodingNames } from "../videoCodec.ts";
import { listSet } from "./schema.ts";

const { width, height, fps, kbps } = pictureRanges;

/** Video codecs in GameSessions, by their SDP names. */
export const StreamCodec = z.enum(codecEncodingNames);
export type StreamCodec = z.infer<typeof StreamCodec>;

/** Quality presets in GameSessions. */
const clusterPresetOf = {
  auto: "Auto",
  lowLatency: "LowLatency",
  sharp: "Sharp",
  dataSaver: "DataSaver",
} as const satisfies Record<QualityPreset, string>;
const StreamPreset = z.enum(clusterPresetOf);
const presetOfCluster = Object.fromEntries(
  qualityPresets.map((preset) => [clusterPresetOf[preset], preset]),
) as Record<z.infer<typeof StreamPreset>, QualityPreset>;

const StreamQualitySpec = z.strictObject({
  preset: StreamPreset.describe("Preset that the player chose."),
  width: z
    .int()
    .min(2)
    .max(width.max)
    .describe("Width of the video in pixels, at most the width of the display."),
  height: z
    .int()
    .min(2)
    .max(height.max)
    .describe("Height of the video in pixels, at most the height of the display."),
  framesPerSecond: z.int().min(fps.min).max(fps.max).describe("Maximum frame rate."),
  maxBitrateKbps: z.int().min(kbps.min).max(kbps.max).describe("Maximum video bitrate in kbit/s."),
  startBitrateKbps: z
    .int()
    .min(kbps.min)
    .max(kbps.max)
    .optional()
    .describe(
      "Video bitrate in kbit/s before the connection has been measured. Defaults to the operator's setting.",
    ),
});

/** The `stream` field of a GameSession: the limits of its picture and the quality it starts with. */
export const StreamSpec = z.strictObject({
  width: z
    .int()
    .min(width.min)
    .max(width.max)
    .describe("Width of the game's display in pixels. The video is never wider."),
  height: z
    .int()
    .min(height.min)
    .max(height.max)
    .describe("Height of the game's display in pixels. The video is never higher."),
  framesPerSecond: z
    .int()
    .min(fps.min)
    .max(fps.max)
    .describe("Frame rate of presets that do not define one."),
  maxFramesPerSecond: z
    .int()
    .min(fps.min)
    .max(fps.max)
    .optional()
    .describe("Highest frame rate that the player can choose. Defaults to framesPerSecond."),
  codecs: listSet(z.array(StreamCodec).min(1).max(4)).describe("Video codecs in order of preference."),
  maxBitrateKbps: z
    .int()
    .min(kbps.min)
    .max(kbps.max)
    .describe("Highest video bitrate that the player can choose, in kbit/s."),
  quality: StreamQualitySpec.optional().describe(
    "Quality that the stream starts with, until the player changes it. Defaults to the limits above.",
  ),
});
export type StreamSpec = z.infer<typeof StreamSpec>;

/** A session's stream in the vocabulary of streamQuality.ts. */
export interface SessionQuality {
  bounds: QualityBounds;
  /** The quality that the stream starts with. */
  quality: StreamQuality;
  /** Bitrate before the connection has been measured, in kbit/s; undefined for the operator's default. */
  startKbps?: number | undefined;
}

/** Returns the `stream` field of a session with this quality. */
export function toStreamSpec(
  { bounds, quality, startKbps }: SessionQuality,
  codecs: StreamSpec["codecs"],
): StreamSpec {
  return {
    width: bounds.width,
    height: bounds.height,
    framesPerSecond: bounds.fps,
    maxFramesPerSecond: bounds.maxFps,
    codecs,
    maxBitrateKbps: bounds.maxKbps,
    quality: {
      preset: clusterPresetOf[quality.preset],
      width: quality.width,
      height: quality.height,
      framesPerSecond: quality.fps,
      maxBitrateKbps: quality.maxKbps,
      ...(startKbps === undefined ? {} : { startBitrateKbps: Math.min(startKbps, quality.maxKbps) }),
    },
  };
}

/** Returns the quality in a session's `stream` field; without one, the stream starts at its bounds. */
export function fromStreamSpec(spec: StreamSpec): SessionQuality {
  const { width, height, framesPerSecond: fps, maxBitrateKbps: maxKbps, quality } = spec;
  const bounds = { width, height, fps, maxFps: spec.maxFramesPerSecond ?? fps, maxKbps };
  if (quality === undefined) return { bounds, quality: { preset: "auto", width, height, fps, maxKbps } };
  return {
    bounds,
    quality: {
      preset: presetOfCluster[quality.preset],
      width: quality.width,
      height: quality.height,
      fps: quality.framesPerSecond,
      maxKbps: quality.maxBitrateKbps,
    },
    startKbps: quality.startBitrateKbps,
  };
}
