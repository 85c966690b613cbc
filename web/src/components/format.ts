import { language, t } from "../i18n.ts";

/** Returns how long ago a moment was: `just now`, `5 minutes ago`, `3 days ago`; after two weeks the date. */
export function formatTimeAgo(moment: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1_000);
  if (seconds < 60) return t("time.justNow");
  const format = new Intl.RelativeTimeFormat(language, { numeric: "always" });
  if (seconds < 3_600) return format.format(-Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return format.format(-Math.floor(seconds / 3_600), "hour");
  if (seconds < 14 * 86_400) return format.format(-Math.floor(seconds / 86_400), "day");
  return new Date(moment).toLocaleDateString(language, { day: "numeric", month: "long", year: "numeric" });
}

/** Returns a moment as the player's clock shows it, such as `Mar 10, 2026, 21:40`. */
export function formatMoment(moment: string): string {
  return new Date(moment).toLocaleString(language, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
}

/** Returns a duration such as `1 h 5 min`, `5 min 3 s` or `3 s`. */
export function formatDuration(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor((whole % 3_600) / 60)];
  if (hours > 0) return t("time.hours", { hours, minutes });
  const rest = whole % 60;
  return minutes > 0 ? t("time.minutes", { minutes, seconds: rest }) : t("time.seconds", { seconds: rest });
}

/** Returns a duration without seconds, such as `45 min`, `3 h` or `1 h 20 min`. */
export function formatHours(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60)];
  if (hours === 0) return t("launch:playLimits.minutes", { minutes });
  return minutes === 0
    ? t("launch:playLimits.hours", { hours })
    : t("launch:playLimits.hoursAndMinutes", { hours, minutes });
}

/** Returns minutes and seconds for a countdown, such as `4:05`; never less than `0:00`. */
export function formatCountdown(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Returns a `YYYY-MM-DD` date as people write it; an empty text for anything else. */
export function formatDate(date: string): string {
  const time = Date.parse(date);
  return Number.isNaN(time)
    ? ""
    : new Date(time).toLocaleDateString(language, {
        day: "numeric",
        month: "long",
        year: "numeric",
        timeZone: "UTC",
      });
}

/**
 * Returns a size in bytes as people write it, such as `0 KB`, `47 KB`, `1.2 MB` or `256 MB`: in steps of
 * 1024, and anything but nothing as at least 1 KB.
 */
export function formatSize(bytes: number): string {
  const kibibytes = Math.ceil(bytes / 1024);
  if (kibibytes < 1024) return `${kibibytes} KB`;
  const mebibytes = bytes / 2 ** 20;
  return mebibytes < 10 ? `${Number(mebibytes.toFixed(1))} MB` : `${Math.round(mebibytes)} MB`;
}

/** Returns the names of language tags, such as `English`. A tag without a known name stands for itself. */
export function formatLanguages(tags: readonly string[]): string {
  const names = new Intl.DisplayNames(language, { type: "language", fallback: "code" });
  return tags
    .map((tag) => {
      try {
        return names.of(tag) ?? tag;
      } catch {
        return tag; // Not a well-formed tag.
      }
    })
    .join(", ");
}
