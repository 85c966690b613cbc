/**
 * Returns the z value of the Mann-Whitney U test for two samples. It is approximately normal if both have the
 * same distribution: beyond ±4, chance is one in 16,000. Ties count half.
 */
export function mannWhitneyZ(left: readonly number[], right: readonly number[]): number {
  const ranked = [
    ...left.map((value) => ({ value, isLeft: true })),
    ...right.map((value) => ({ value, isLeft: false })),
  ].sort((a, b) => a.value - b.value);
  let leftRanks = 0;
  for (let start = 0; start < ranked.length;) {
    let end = start;
    while (end < ranked.length && ranked[end]?.value === ranked[start]?.value) end += 1;
    const rank = (start + 1 + end) / 2;
    leftRanks += rank * ranked.slice(start, end).filter(({ isLeft }) => isLeft).length;
    start = end;
  }
  const [n, m] = [left.length, right.length];
  const u = leftRanks - (n * (n + 1)) / 2;
  return (u - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
}

/**
 * Returns the standard error of the ratio of two such samples' medians, estimated from the middle half of the
 * sample.
 */
export function medianErrorOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const quartile = (part: number): number => sorted[Math.floor((sorted.length - 1) * part)] ?? Number.NaN;
  const deviation = (quartile(0.75) - quartile(0.25)) / 1.349;
  return (Math.SQRT2 * 1.2533 * deviation) / Math.sqrt(sorted.length) / medianOf(values);
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}
