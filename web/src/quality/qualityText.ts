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
import { t } from "../i18n.ts";

/** A preset as players read it. */
export interface PresetText {
  preset: QualityPreset;
  name: string;
  about: string;
}

/** Returns the presets as players read them, with the values that apply within this maximum. */
export function describePresets(maximum: QualityMaximum): PresetText[] {
  const saver = qualityWithin({ preset: "dataSaver" }, { ...maximum, maxFps: maximum.fps });
  const about: Record<QualityPreset, string> = {
    auto: t("quality:autoAbout"),
    lowLatency: t("quality:lowLatencyAbout", { fps: maximum.fps }),
    sharp: t("quality:sharpAbout"),
    dataSaver: t("quality:dataSaverAbout", { megabytes: megabytesPerHour(saver.maxKbps) }),
  };
  return qualityPresets.map((preset) => ({ preset, name: t(`quality:${preset}`), about: about[preset] }));
}

/** Returns the quality in one line. */
export function describeQuality({ preset, width, height, fps, maxKbps }: StreamQuality): string {
  const megabytes = megabytesPerHour(maxKbps);
  return t("quality:current", { preset: t(`quality:${preset}`), width, height, fps, megabytes });
}

/** Returns the quality without its size, for places that show the size anyway. */
export function describeQualityBriefly({ preset, fps, maxKbps }: StreamQuality): string {
  return t("quality:currentShort", { preset: t(`quality:${preset}`), fps, kbps: maxKbps });
}

/**
 * Returns the size that the next game starts with, as a sentence, if the choice exceeds the display of this
 * session and the site allows more; undefined otherwise.
 */
export function describeNextSize(
  choice: QualityRequest,
  session: QualityMaximum,
  site: QualityMaximum,
): string | undefined {
  const { width, height } = sessionBounds(choice, {
    ...session,
    maxFps: session.fps,
    maxWidth: site.width,
    maxHeight: site.height,
  });
  return width > session.width || height > session.height
    ? t("quality:nextSize", { width, height })
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

/** Returns the sizes that players may choose from, including the maximum. */
export function listSizes(maximum: QualityMaximum): { width: number; height: number }[] {
  const smaller = commonSizes
    .map(([width, height]) => ({ width, height }))
    .filter(({ width, height }) => width < maximum.width && height < maximum.height);
  return [...smaller, { width: maximum.width, height: maximum.height }];
}

/** Returns the frame rates that players may choose from, including the maximum. */
export function listFrameRates(maximum: QualityMaximum): number[] {
  return [...commonRates.filter((rate) => rate < maximum.fps && rate >= pictureRanges.fps.min), maximum.fps];
}
