import type { Viewer } from "./viewer.ts";

/** Returns the colours of a coarse grid over the picture at one moment. */
export async function gridOf(viewer: Viewer): Promise<number[]> {
  const cells = Array.from({ length: 36 }, (_, cell) => ({
    x: (cell % 6) * 213,
    y: Math.floor(cell / 6) * 120,
    width: 213,
    height: 120,
  }));
  return (await viewer.colors(cells)).flat();
}

/** Returns the mean difference between two grids, from 0 to 255. */
export function gridDistance(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 0)), 0) / one.length;
}
