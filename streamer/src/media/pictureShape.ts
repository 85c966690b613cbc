import type { StreamQuality } from "#contracts/streamQuality.ts";

/** What a media child is started for; another one takes its place for another shape. */
export type PictureShape = Pick<StreamQuality, "preset" | "width" | "height" | "fps">;

/** Whether one child can serve both. */
export function isSameShape(a: PictureShape, b: PictureShape): boolean {
  return a.preset === b.preset && a.width === b.width && a.height === b.height && a.fps === b.fps;
}
