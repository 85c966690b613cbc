import {
  type QualityRequest,
  megabytesPerHour,
  pictureRanges,
  qualityPresets,
  qualityWithin,
  sessionBounds,
  type QualityMaximum,
  type QualityPreset,
  type StreamQuality,
} from "#contracts/streamQuality.ts";

/** What players read of a preset. */
export interface PresetText {
  preset: QualityPreset;
  name: string;
  about: string;
}

const names: Record<QualityPreset, string> = {
  auto: "Auto",
  lowLatency: "Low latency",
  sharp: "Sharp",
  dataSaver: "Data saver",
};

/** Returns the presets as players read them, with what they come to within this maximum. */
export function presetTexts(maximum: QualityMaximum): PresetText[] {
  const saver = qualityWithin({ preset: "dataSaver" }, { ...maximum, maxFps: maximum.fps });
  const about: Record<QualityPreset, string> = {
    auto: "Follows your connection.",
    lowLatency: `Up to ${maximum.fps} frames per second, with the least delay.`,
    sharp: "The largest picture, with more detail in motion and a little more delay.",
    dataSaver: `A small picture that takes at most ${megabytesPerHour(saver.maxKbps)} MB per hour.`,
  };
  return qualityPresets.map((preset) => ({ preset, name: names[preset], about: about[preset] }));
}

/** Returns in a line what holds. */
export function qualityLine({ preset, width, height, fps, maxKbps }: StreamQuality): string {
  return `${names[preset]}: ${width} × ${height}, up to ${fps} frames per second, at most ${megabytesPerHour(maxKbps)} MB per hour`;
}

/** The same in few words, for those who see the size elsewhere. */
export function qualityWords({ preset, fps, maxKbps }: StreamQuality): string {
  return `${names[preset]}, ≤ ${fps} per second, ≤ ${maxKbps} kbit/s`;
}

/**
 * Returns what a choice changes from the next game on only, when it asks for more than the display of this
 * session has, and the site sends more; undefined otherwise.
 */
export function nextSizeLine(
  choice: QualityRequest,
  session: QualityMaximum,
  site: QualityMaximum,
): string | undefined {
  const next = sessionBounds(choice, {
    ...session,
    maxFps: session.fps,
    maxWidth: site.width,
    maxHeight: site.height,
  });
  return next.width > session.width || next.height > session.height
    ? `This game keeps the size that it was started with. Your next one starts with up to ${next.width} × ${next.height}.`
    : undefined;
}

const commonSizes = [
  [640, 360],
  [854, 480],
  [1280, 720],
  [1600, 900],
  [1920, 1080],
  [2560, 1440],
  [3840, 2160],
] as const;
const commonRates = [30, 60, 90, 120];

/** Returns the sizes that players may choose from, the maximum among them. */
export function offeredSizes(maximum: QualityMaximum): { width: number; height: number }[] {
  const smaller = commonSizes
    .map(([width, height]) => ({ width, height }))
    .filter(({ width, height }) => width < maximum.width && height < maximum.height);
  return [...smaller, { width: maximum.width, height: maximum.height }];
}

/** Returns the frame rates that players may choose from, the maximum among them. */
export function offeredRates(maximum: QualityMaximum): number[] {
  return [...commonRates.filter((rate) => rate < maximum.fps && rate >= pictureRanges.fps.min), maximum.fps];
}
