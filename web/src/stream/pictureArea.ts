import { pointerScale } from "#contracts/stream.ts";

export interface Size {
  width: number;
  height: number;
}

export interface Area extends Size {
  left: number;
  top: number;
}

/**
 * Returns the area of a picture with `object-fit: contain` inside a box: centred and as large as possible,
 * with bars on two sides.
 */
export function pictureArea(box: Area, picture: Size): Area {
  if (picture.width <= 0 || picture.height <= 0) return box;
  const scale = Math.min(box.width / picture.width, box.height / picture.height);
  const width = picture.width * scale;
  const height = picture.height * scale;
  return {
    width,
    height,
    left: box.left + (box.width - width) / 2,
    top: box.top + (box.height - height) / 2,
  };
}

/**
 * Converts a point of the page to pointer coordinates of the picture; points on the bars move to the nearest
 * edge.
 */
export function toPointerCoordinates(point: { x: number; y: number }, area: Area): { x: number; y: number } {
  return { x: share(point.x - area.left, area.width), y: share(point.y - area.top, area.height) };
}

function share(offset: number, length: number): number {
  if (length <= 0) return 0;
  return Math.round(Math.min(1, Math.max(0, offset / length)) * pointerScale);
}
