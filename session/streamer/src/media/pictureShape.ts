import type { StreamQuality } from "#contracts/streamQuality.ts";

/**
 * The settings that a media child is started with. Another shape needs another child, which takes its place.
 */
export type PictureShape = Pick<StreamQuality, "preset" | "width" | "height" | "fps">;

/** Returns whether one child can serve both shapes. */
export function isSameShape(a: PictureShape, b: PictureShape): boolean {
  return a.preset === b.preset && a.width === b.width && a.height === b.height && a.fps === b.fps;
}
