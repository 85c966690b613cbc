import { clusterPresetOf, presetOfCluster, type GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import type { KeptQuality, LaunchQuality } from "#contracts/http/streamQuality.ts";
import {
  qualityWithin,
  sessionBounds,
  type SiteBounds,
  type StreamQuality,
} from "#contracts/streamQuality.ts";

type StreamSpec = GameSessionSpec["stream"];

/**
 * Returns the quality of a launch: what it asks for, or the player's kept choice where it names nothing but a
 * bitrate to start with.
 */
export function launchedQuality(asked: LaunchQuality | undefined, kept: KeptQuality): LaunchQuality {
  const { startKbps, ...choice } = asked ?? {};
  if (Object.keys(choice).length > 0) return { ...asked };
  return { ...kept, ...(startKbps === undefined ? {} : { startKbps }) };
}

/**
 * Returns the bounds of a session's stream: the site's or, for a game that declares a picture, with that as
 * its normal and largest one.
 */
export function siteBoundsFor(
  site: SiteBounds,
  picture: { width: number; height: number } | undefined,
): SiteBounds {
  return picture === undefined
    ? site
    : { ...site, ...picture, maxWidth: picture.width, maxHeight: picture.height };
}

/**
 * Returns the stream of a session that is launched with this wish, within the site's bounds, in the first of
 * its codecs that node and browser both have.
 */
export function buildStreamSpec(
  wish: LaunchQuality,
  site: SiteBounds,
  codecs: StreamSpec["codecs"],
): StreamSpec {
  const bounds = sessionBounds(wish, site);
  const { preset, width, height, fps, maxKbps } = qualityWithin(wish, bounds);
  return {
    width: bounds.width,
    height: bounds.height,
    framesPerSecond: bounds.fps,
    maxFramesPerSecond: bounds.maxFps,
    codecs,
    maxBitrateKbps: bounds.maxKbps,
    quality: {
      preset: clusterPresetOf[preset],
      width,
      height,
      framesPerSecond: fps,
      maxBitrateKbps: maxKbps,
      ...(wish.startKbps === undefined ? {} : { startBitrateKbps: Math.min(wish.startKbps, maxKbps) }),
    },
  };
}

/**
 * Returns the quality that a session was launched with; one of a release without presets has the site's own.
 */
export function presentQuality({
  width,
  height,
  framesPerSecond,
  maxBitrateKbps,
  quality,
}: StreamSpec): StreamQuality {
  if (quality === undefined)
    return { preset: "auto", width, height, fps: framesPerSecond, maxKbps: maxBitrateKbps };
  return {
    preset: presetOfCluster[quality.preset],
    width: quality.width,
    height: quality.height,
    fps: quality.framesPerSecond,
    maxKbps: quality.maxBitrateKbps,
  };
}
