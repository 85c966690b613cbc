const longestMs = 60_000;

/**
 * Returns how long to wait for the next look at the saves: as long as lets a change be spooled in time when the last look and pack took a
 * little, and longer than they took when they took long, so that a large save does not keep a core busy.
 */
export function nextPauseMs({ spoolMs, tookMs, isSoon }: { spoolMs: number; tookMs: number; isSoon: boolean }): number {
  const shortest = spoolMs * 0.3;
  if (isSoon) return shortest / 3;
  return Math.max(shortest, Math.min(longestMs, 2 * tookMs - shortest));
}
