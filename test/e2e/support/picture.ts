import type { Page } from "playwright-core";
import { eventually } from "#test/support/clocks/eventually.ts";

/** Mean colours of a coarse grid over the decoded picture, three numbers per cell. */
export type Grid = number[];

export async function gridOf(page: Page): Promise<Grid> {
  const areas = Array.from({ length: 36 }, (_, cell) => ({
    x: (cell % 6) * 213,
    y: Math.floor(cell / 6) * 120,
    width: 213,
    height: 120,
  }));
  return page.evaluate<Grid>(`${JSON.stringify(areas)}.flatMap((area) => joypodProbe.color(area))`);
}

/** Returns the mean difference of two pictures, in steps of a colour channel. */
export function distance(one: Grid, other: Grid): number {
  return one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 0)), 0) / one.length;
}

/**
 * Waits for a picture with more than one colour that changes little within a second, which means that loading
 * screens and fades are over.
 */
export async function steadyPicture(page: Page, timeoutMs = 120_000): Promise<Grid> {
  let last = await gridOf(page);
  return eventually(
    async () => {
      const next = await gridOf(page);
      const isSteady = distance(last, next) < 4 && Math.max(...next) - Math.min(...next) > 20;
      last = next;
      return isSteady ? next : undefined;
    },
    { timeoutMs, intervalMs: 1000, what: "a steady picture" },
  );
}
