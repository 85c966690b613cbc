import type { PictureType } from "#contracts/http/partners.ts";

/** Width and height of a picture in pixels. */
interface PictureSize {
  width: number;
  height: number;
}

/** Type and size of a picture, read from its bytes. */
export interface PictureFormat extends PictureSize {
  type: PictureType;
}

/**
 * Returns type and size of a picture from its bytes; undefined if they are not a complete PNG, JPEG, WebP or
 * AVIF.
 */
export function readPictureFormat(bytes: Buffer): PictureFormat | undefined {
  for (const [type, read] of Object.entries(readers) as [
    PictureType,
    (bytes: Buffer) => PictureSize | undefined,
  ][]) {
    const size = read(bytes);
    if (size !== undefined && size.width > 0 && size.height > 0) return { type, ...size };
  }
  return undefined;
}

const readers: Record<PictureType, (bytes: Buffer) => PictureSize | undefined> = {
  "image/png": readPngSize,
  "image/jpeg": readJpegSize,
  "image/webp": readWebpSize,
  "image/avif": readAvifSize,
};

const pngSignature = Buffer.from("89504e470d0a1a0a", "hex");
/** Length, type and checksum around a chunk's content. */
const pngChunkFrame = 12;

/** Requires the header first and the end marker last, which an interrupted download lacks. */
function readPngSize(bytes: Buffer): PictureSize | undefined {
  if (
    !bytes.subarray(0, 8).equals(pngSignature) ||
    bytes.length < 45 ||
    textAt(bytes, 12) !== "IHDR" ||
    bytes.readUInt32BE(8) !== 13
  )
    return undefined;
  for (
    let offset = 8;
    offset + pngChunkFrame <= bytes.length;
    offset += pngChunkFrame + bytes.readUInt32BE(offset)
  ) {
    if (textAt(bytes, offset + 4) === "IEND")
      return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  return undefined;
}

/** SOF0 to SOF15 hold the size, except for three neighbouring numbers that mark other tables. */
const notFrames: ReadonlySet<number> = new Set([0xc4, 0xc8, 0xcc]);

function readJpegSize(bytes: Buffer): PictureSize | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let offset = 2; offset + 9 <= bytes.length; offset += 2 + bytes.readUInt16BE(offset + 2)) {
    const marker = bytes.readUInt8(offset + 1);
    if (bytes.readUInt8(offset) !== 0xff || marker < 0xc0) return undefined;
    if (marker > 0xcf || notFrames.has(marker)) continue;
    // Cameras append data after the end marker.
    return bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > offset
      ? { width: bytes.readUInt16BE(offset + 7), height: bytes.readUInt16BE(offset + 5) }
      : undefined;
  }
  return undefined;
}

/** Lossy, lossless and extended WebP store the size in different places. */
function readWebpSize(bytes: Buffer): PictureSize | undefined {
  if (
    bytes.length < 30 ||
    textAt(bytes, 0) !== "RIFF" ||
    textAt(bytes, 8) !== "WEBP" ||
    bytes.readUInt32LE(4) + 8 > bytes.length
  )
    return undefined;
  const kind = textAt(bytes, 12);
  if (kind === "VP8 ")
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  if (kind === "VP8X") return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (kind !== "VP8L" || bytes.readUInt8(20) !== 0x2f) return undefined;
  const packed = bytes.readUInt32LE(21);
  return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
}

function textAt(bytes: Buffer, offset: number): string {
  return bytes.toString("latin1", offset, offset + 4);
}

/** Boxes that contain the size, and the number of bytes in each before its first inner box. */
const containers: Readonly<Record<string, number>> = { meta: 4, iprp: 0, ipco: 0 };
/** Far more boxes than a picture has on one level. */
const boxesMax = 256;
/** Deeper than the box that holds the size. */
const depthMax = 8;

/**
 * Returns the largest size that an AVIF names, because a grid is larger than its tiles; undefined for image
 * sequences and any other bytes.
 */
function readAvifSize(bytes: Buffer): { width: number; height: number } | undefined {
  if (bytes.length < 16 || bytes.toString("latin1", 4, 12) !== "ftypavif") return undefined;
  const sizes = sizesIn(bytes, 0);
  if (sizes === undefined || sizes.length === 0) return undefined;
  return {
    width: Math.max(...sizes.map(({ width }) => width)),
    height: Math.max(...sizes.map(({ height }) => height)),
  };
}

/**
 * Returns undefined when a box exceeds its parent, as in a truncated download, or when boxes are nested more
 * deeply than in pictures.
 */
function sizesIn(bytes: Buffer, depth: number): { width: number; height: number }[] | undefined {
  if (depth > depthMax) return undefined;
  const sizes = [];
  let offset = 0;
  for (let count = 0; offset + 8 <= bytes.length; count++) {
    const length = bytes.readUInt32BE(offset);
    const kind = bytes.toString("latin1", offset + 4, offset + 8);
    // 0 means "to the end"; only the last box has it.
    const end = length === 0 ? bytes.length : offset + length;
    if (end < offset + 8 || end > bytes.length || count === boxesMax) return undefined;
    const skipped = containers[kind];
    if (skipped !== undefined) {
      const inner = sizesIn(bytes.subarray(offset + 8 + skipped, end), depth + 1);
      if (inner === undefined) return undefined;
      sizes.push(...inner);
    } else if (kind === "ispe" && end >= offset + 20) {
      sizes.push({ width: bytes.readUInt32BE(offset + 12), height: bytes.readUInt32BE(offset + 16) });
    }
    offset = end;
  }
  return sizes;
}
