import { table } from "../output/table.ts";
import type { Moment, LaunchStep } from "./launchMoments.ts";

const barWidth = 40;
const notKnown = "not recorded";

/**
 * Returns the steps as rows of a waterfall: when each ended after the first moment, how long it took, and a
 * bar.
 */
export function waterfall(steps: readonly LaunchStep[]): string {
  const moments = steps.flatMap(({ from, to }) => [from, to]).filter((moment) => moment !== undefined);
  const [origin] = steps.flatMap(({ from }) => from ?? []);
  if (origin === undefined) return "Nothing is recorded of the launch yet.";
  const lengthMs = Math.max(1_000, ...moments.map(({ atMs }) => atMs - origin.atMs));
  const rows = steps.map(({ name, from, to, source }) => {
    if (to === undefined) return [name, notKnown, "", "", source];
    return [
      name,
      offsetText(origin, to),
      from === undefined ? "" : lasting(from, to),
      bar(origin.atMs, lengthMs, from ?? to, to),
      source,
    ];
  });
  return table(
    ["STEP", "AT", "TOOK", "", "FROM"],
    rows.map((row) => row.map((cell) => cell || " ")),
  );
}

/** A time is told as exactly as both of its ends are known. */
function offsetText(from: Moment, to: Moment): string {
  const seconds = (to.atMs - from.atMs) / 1000;
  return from.isWholeSecond || to.isWholeSecond
    ? `~${Math.max(0, Math.round(seconds))} s`
    : `${Math.max(0, seconds).toFixed(2)} s`;
}

function lasting(from: Moment, to: Moment): string {
  // What ended within the second in which the other began took less than the clock can tell.
  const isShort = (from.isWholeSecond || to.isWholeSecond) && Math.abs(to.atMs - from.atMs) < 1_000;
  return isShort || to.atMs < from.atMs ? "<1 s" : offsetText(from, to);
}

function bar(originMs: number, lengthMs: number, from: Moment, to: Moment): string {
  const columnOf = ({ atMs }: Moment): number =>
    Math.round(Math.min(1, Math.max(0, (atMs - originMs) / lengthMs)) * (barWidth - 1));
  const [start, end] = [Math.min(columnOf(from), columnOf(to)), columnOf(to)];
  return `|${" ".repeat(start)}${"=".repeat(Math.max(1, end - start + 1))}`.padEnd(barWidth + 1) + "|";
}
