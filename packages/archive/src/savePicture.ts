import { limits } from "#contracts/limits.ts";

const { width: widthMax, height: heightMax, bytes: bytesMax } = limits.save.picture;

/** The only marker segments that a picture may have. Others, such as comments and EXIF, can hold anything. */
const markers = {
  app0: 0xe0,
  tables: 0xdb,
  huffman: 0xc4,
  restart: 0xdd,
  baseline: 0xc0,
  scan: 0xda,
} as const;
const startOfImage = 0xffd8;
const endOfImage = 0xd9;
/** A JFIF header without a thumbnail. */
const jfifLength = 16;
const jfifName = Buffer.from("JFIF\0");

/**
 * Returns whether the bytes are a small baseline JPEG and nothing else. Pictures of saves come from pods, and
 * are stored, served and shown without being decoded, so the structure must be complete: known segments, one
 * scan, and no byte after its end.
 */
export function isSavePicture(bytes: Buffer): boolean {
  if (bytes.length > bytesMax || bytes.length < 4 || bytes.readUInt16BE(0) !== startOfImage) return false;
  let hasFrame = false;
  for (let offset = 2; offset + 4 <= bytes.length;) {
    const [prefix, marker, length] = [bytes[offset], bytes[offset + 1], bytes.readUInt16BE(offset + 2)];
    const end = offset + 2 + length;
    if (prefix !== 0xff || length < 2 || end > bytes.length) return false;
    const segment = bytes.subarray(offset + 4, end);
    switch (marker) {
      case markers.app0:
        if (offset !== 2 || length !== jfifLength || !segment.subarray(0, 5).equals(jfifName)) return false;
        break;
      case markers.tables:
      case markers.huffman:
      case markers.restart:
        break;
      case markers.baseline:
        if (hasFrame || !isSmallFrame(segment)) return false;
        hasFrame = true;
        break;
      case markers.scan:
        return hasFrame && isLastScan(bytes, end);
      default:
        return false;
    }
    offset = end;
  }
  return false;
}

/** Reads precision, height, width and number of components. */
function isSmallFrame(frame: Buffer): boolean {
  if (frame.length < 6 || frame[0] !== 8) return false;
  const [height, width, components] = [frame.readUInt16BE(1), frame.readUInt16BE(3), frame[5] ?? 0];
  return (
    width > 0 &&
    width <= widthMax &&
    height > 0 &&
    height <= heightMax &&
    (components === 1 || components === 3) &&
    frame.length === 6 + 3 * components
  );
}

/** In a scan, 0xff is followed by 0 or is a restart marker. The first other marker must be the end. */
function isLastScan(bytes: Buffer, start: number): boolean {
  for (let offset = bytes.indexOf(0xff, start); offset >= 0; offset = bytes.indexOf(0xff, offset + 2)) {
    const next = bytes[offset + 1];
    if (next === endOfImage) return offset + 2 === bytes.length;
    if (next !== 0 && (next === undefined || next < 0xd0 || next > 0xd7)) return false;
  }
  return false;
}
