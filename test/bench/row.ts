/** A row of the table: our figure compared with a peer or a limit, measured in the same run. */
export interface BenchRow {
  id: string;
  ours: string;
  peer: string;
  limit: string;
  ratio: string;
  target: string;
  isPassed: boolean;
  /** Set if a decision accepts a bound because the target cannot be reached. */
  accepted?: Acceptance;
}

/** A bound that a decision accepts instead of the target. */
export interface Acceptance {
  /** As printed in the table, such as `≤ 13`. */
  bound: string;
  isKept: boolean;
  /** Number of the decision in docs/decisions. */
  decision: number;
}

/** Returns true if the row meets its target or the bound that a decision accepts. */
export function isAsDecided({ isPassed, accepted }: BenchRow): boolean {
  return isPassed || accepted?.isKept === true;
}

/** Returns a row whose ratio must be at most `atMost`. The default ratio is that of the two times. */
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

/** Returns a row whose ratio of the peer's time to ours must be at least `atLeast`. */
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

/** Returns a row with a count that must not exceed its limit. */
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

/** Returns a row with a count that must be at least this share of `asked`. */
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

/** Returns a row with a count that must be at most this share of `whole`. */
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

/** Returns a row with a time that must not exceed its limit. */
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

/** Returns the smallest value that is not exceeded by the given share of values. */
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
 * Formats `id ours peer limit ratio target PASS|FAIL` in columns. A missed target that a decision accepts is
 * marked instead of FAIL.
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

/** Formats a time for the table. */
export function milliseconds(value: number): string {
  if (value < 1) return `${(value * 1000).toFixed(0)} µs`;
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(1)} ms`;
}
