/** Returns a size in the largest binary unit with a value of at least 1, for example `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 2 ** (10 * power);
  return `${power === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[power] ?? "B"}`;
}

/** Returns a duration, for example `45 s`, `12 min` or `3 h`. */
export function durationText(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  return seconds < 6000 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}

/** Returns a number with its noun, for example `1 server`, `2 servers`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Returns a moment of the server to the minute, in UTC. */
export function momentText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)}`;
}
