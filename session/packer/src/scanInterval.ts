const longestMs = 60_000;

/**
 * Returns how long to wait before the next scan of the saves. The wait is short while changes can be spooled
 * in time. When they cannot, it exceeds the duration of the last scan and pack, so that a large save does not
 * keep a core busy.
 */
export function nextScanDelayMs({
  spoolMs,
  tookMs,
  isSoon,
}: {
  spoolMs: number;
  tookMs: number;
  isSoon: boolean;
}): number {
  const shortest = spoolMs * 0.2;
  if (isSoon) return shortest / 2;
  return tookMs <= spoolMs / 2 ? shortest : Math.min(longestMs, 2 * tookMs - shortest);
}
