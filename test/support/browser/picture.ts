import { eventually } from "../clocks/eventually.ts";

/** In pixels of the game's picture. */
export interface PictureArea {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Red, green and blue, from 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number];

/** The decoded picture of a session, whichever page shows it. */
export interface Picture {
  /** Mean colour of the middle half of an area. */
  color(area: PictureArea): Promise<Color>;
  /** The same of several areas, all in one frame. */
  colors(areas: readonly PictureArea[]): Promise<Color[]>;
}

/** The colour that `#rrggbb` names. */
export function colorOf(hex: string): Color {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/**
 * Waits until the middle of an area is about this colour, `#rrggbb`: conversion and compression shift colours
 * a little.
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
