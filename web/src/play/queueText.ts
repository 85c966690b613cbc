import { t } from "../i18n.ts";

/** Returns an estimated wait as a sentence, in minutes or, from two hours on, in hours. */
export function describeWait({ min, max }: { min: number; max: number }): string {
  const [unit, seconds] = max >= 2 * 3_600 ? (["Hours", 3_600] as const) : (["Minutes", 60] as const);
  const [from, to] = [Math.floor(min / seconds), Math.max(1, Math.ceil(max / seconds))];
  return from === 0 || from === to
    ? t(`play:queue.wait.upTo${unit}`, { count: to })
    : t(`play:queue.wait.range${unit}`, { from, count: to });
}
