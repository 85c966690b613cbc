import { eventually } from "../clocks/eventually.ts";

/** An area in pixels of the game's picture. */
export interface PictureArea {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Red, green and blue, from 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number];

/** The decoded picture of a session on any page. */
export interface Picture {
  /** Returns the mean colour of the middle half of an area. */
  color(area: PictureArea): Promise<Color>;
  /** Returns the same for several areas of one frame. */
  colors(areas: readonly PictureArea[]): Promise<Color[]>;
}

/** Returns the colour of `#rrggbb`. */
export function colorOf(hex: string): Color {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/**
 * Waits until the middle of an area has approximately this colour, `#rrggbb`. Conversion and compression
 * change colours slightly.
 */
export async function waitForColor(
  picture: Picture,
  area: PictureArea,
  hex: string,
  { timeoutMs = 15_000, tolerance = 40 } = {},
): Promise<void> {
  const wanted = colorOf(hex);
  await eventually(
    async () => {
      const seen = await picture.color(area);
      if (seen.every((part, at) => Math.abs(part - (wanted[at] ?? 0)) <= tolerance)) return true;
      throw new Error(`it shows ${seen.join(", ")}`);
    },
    { timeoutMs, what: `${hex} at ${area.x}, ${area.y}` },
  );
}
