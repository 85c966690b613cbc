import { dumpYaml } from "@kubernetes/client-node";

/** Formats for programs. */
export const outputFormats = ["json", "yaml"] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** Returns the value as JSON or YAML for programs. */
export function formatOutput(format: OutputFormat, value: unknown): string {
  if (format === "json") return JSON.stringify(value, null, 2);
  // Through JSON, because YAML has no undefined.
  return dumpYaml(JSON.parse(JSON.stringify(value)), { noRefs: true, lineWidth: -1 }).trimEnd();
}

/**
 * Returns the time between two moments in kubectl's format for ages: `45s`, `12m`, `3h`, `2d`; undefined
 * without a start.
 */
export function ageText(from: string | undefined, now: Date): string | undefined {
  if (from === undefined) return undefined;
  const seconds = Math.max(0, Math.round((now.getTime() - Date.parse(from)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** Returns a size in the largest binary unit with a value of at least 1, for example `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 2 ** (10 * power);
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power] ?? "B"}`;
}
