/** One line of the table: ours against a peer, or a limit, measured in the same run. */
export interface BenchRow {
  id: string;
  ours: string;
  peer: string;
  limit: string;
  ratio: string;
  target: string;
  isPassed: boolean;
  /** What a decision accepts where the target cannot hold, and says why. */
  accepted?: Acceptance;
}

/** A bound that a decision set in a target's place. */
export interface Acceptance {
  /** As the table writes it, such as `≤ 13`. */
  bound: string;
  isKept: boolean;
  /** Number of the file in docs/decisions. */
  decision: number;
}

/** Returns whether the row is as it should be: its target holds, or what a decision accepts in its place. */
export function isAsDecided({ isPassed, accepted }: BenchRow): boolean {
  return isPassed || accepted?.isKept === true;
}

/** A row whose ratio must not be above `atMost`: that of the two times, unless it was found otherwise. */
export function atMostRow(
  id: string,
  oursMs: number,
  peerMs: number,
  atMost: number,
  ratio = oursMs / peerMs,
): BenchRow {
  return {
    id,
    ours: milliseconds(oursMs),
    peer: milliseconds(peerMs),
    limit: "-",
    ratio: ratio.toFixed(2),
    target: `≤ ${atMost}`,
    isPassed: ratio <= atMost,
  };
}

/** A row whose ratio, peer to ours, must reach `atLeast`. */
export function atLeastRow(id: string, oursMs: number, peerMs: number, atLeast: number): BenchRow {
  const ratio = peerMs / oursMs;
  return {
    id,
    ours: milliseconds(oursMs),
    peer: milliseconds(peerMs),
    limit: "-",
    ratio: ratio.toFixed(2),
    target: `≥ ${atLeast}`,
    isPassed: ratio >= atLeast,
  };
}

/** A count that must not be above its limit. */
export function countRow(id: string, ours: number, limit: number): BenchRow {
  return {
    id,
    ours: Number.isInteger(ours) ? String(ours) : ours.toFixed(1),
    peer: "-",
    limit: String(limit),
    ratio: "-",
    target: `≤ ${limit}`,
    isPassed: ours <= limit,
  };
}

/** A count that must reach this share of what was asked. */
export function shareRow(id: string, ours: number, asked: number, atLeast: number): BenchRow {
  const share = ours / asked;
  return {
    id,
    ours: String(ours),
    peer: "-",
    limit: String(asked),
    ratio: share.toFixed(2),
    target: `≥ ${Math.round(atLeast * 100)} %`,
    isPassed: share >= atLeast,
  };
}

/** A count that may at most be this share of the whole. */
export function belowShareRow(id: string, ours: number, whole: number, atMost: number): BenchRow {
  const percent = (share: number): string => `${Number((share * 100).toFixed(2))} %`;
  return {
    id,
    ours: percent(ours / whole),
    peer: "-",
    limit: percent(atMost),
    ratio: "-",
    target: `≤ ${percent(atMost)}`,
    isPassed: ours / whole <= atMost,
  };
}

/** A time that must not be above its limit. */
export function belowRow(id: string, oursMs: number, limitMs: number): BenchRow {
  return {
    id,
    ours: milliseconds(oursMs),
    peer: "-",
    limit: milliseconds(limitMs),
    ratio: "-",
    target: `≤ ${limitMs} ms`,
    isPassed: oursMs <= limitMs,
  };
}

/** The value that this share of all values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new Error("There is nothing to take a percentile of.");
  return value;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("There is nothing to take a median of.");
  return middle;
}

/**
 * `id ours peer limit ratio target PASS|FAIL`, in columns. A row that misses its target, as a decision
 * accepts, says so in place of FAIL.
 */
export function table(rows: readonly BenchRow[]): string {
  const lines = [
    ["id", "ours", "peer", "limit", "ratio", "target", ""],
    ...rows.map((row) => [row.id, row.ours, row.peer, row.limit, row.ratio, row.target, verdictOf(row)]),
  ];
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function verdictOf({ isPassed, accepted }: BenchRow): string {
  if (isPassed) return "PASS";
  if (accepted === undefined) return "FAIL";
  return accepted.isKept
    ? `missed; ${accepted.bound} is accepted (decision ${accepted.decision})`
    : `FAIL, also of ${accepted.bound} (decision ${accepted.decision})`;
}

/** As the table writes a time. */
export function milliseconds(value: number): string {
  if (value < 1) return `${(value * 1000).toFixed(0)} µs`;
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(1)} ms`;
}
