import { crc32, deflateSync } from "node:zlib";

/** Returns a valid PNG of one colour. Different colours give different files. */
export function aPng({
  width = 128,
  height = 72,
  colour = 0x3060c0,
}: { width?: number; height?: number; colour?: number } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const row = Buffer.concat([
    Buffer.of(0),
    Buffer.alloc(3 * width, Buffer.of(colour >> 16, (colour >> 8) & 255, colour & 255)),
  ]);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Returns the beginning and the end of a JPEG, with tables before its size, like those of cameras. */
export function aJpeg({
  width = 128,
  height = 72,
  frame = 0xc2,
}: { width?: number; height?: number; frame?: number } = {}): Buffer {
  const size = Buffer.from([8, height >> 8, height & 255, width >> 8, width & 255, 3]);
  return Buffer.concat([
    Buffer.from("ffd8", "hex"),
    segment(0xe0, Buffer.from("JFIF\0")),
    segment(0xdb, Buffer.alloc(65)),
    segment(0xc4, Buffer.alloc(28)),
    segment(frame, Buffer.concat([size, Buffer.alloc(9)])),
    segment(0xda, Buffer.alloc(10)),
    Buffer.from("12345678ffd9", "hex"),
  ]);
}

/** Returns a small baseline JPEG, complete but without an image, as node agents store it with saves. */
export function aSavePicture({
  width = 320,
  height = 180,
  frame = 0xc0,
  extra = Buffer.alloc(0),
  scan = "12345678",
}: { width?: number; height?: number; frame?: number; extra?: Buffer; scan?: string } = {}): Buffer {
  const size = Buffer.from([8, height >> 8, height & 255, width >> 8, width & 255, 3]);
  return Buffer.concat([
    Buffer.from("ffd8", "hex"),
    segment(0xe0, Buffer.from("4a46494600010100000100010000", "hex")),
    segment(0xdb, Buffer.alloc(65)),
    extra,
    segment(frame, Buffer.concat([size, Buffer.alloc(9)])),
    segment(0xc4, Buffer.alloc(28)),
    segment(0xda, Buffer.alloc(10)),
    Buffer.from(`${scan}ffd9`, "hex"),
  ]);
}

/** Returns a WebP of the given kind without pixel data. */
export function aWebp(kind: "VP8 " | "VP8L" | "VP8X", { width = 128, height = 72 } = {}): Buffer {
  const body = Buffer.alloc(32);
  if (kind === "VP8 ") {
    body.set([0x9d, 0x01, 0x2a], 3);
    body.writeUInt16LE(width, 6);
    body.writeUInt16LE(height, 8);
  } else if (kind === "VP8L") {
    body.writeUInt8(0x2f, 0);
    body.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
  } else {
    body.writeUIntLE(width - 1, 4, 3);
    body.writeUIntLE(height - 1, 7, 3);
  }
  const length = Buffer.alloc(4);
  length.writeUInt32LE(body.length);
  const content = Buffer.concat([Buffer.from(`WEBP${kind}`), length, body]);
  const whole = Buffer.alloc(4);
  whole.writeUInt32LE(content.length);
  return Buffer.concat([Buffer.from("RIFF"), whole, content]);
}

/** Returns an AVIF of tiles without pixel data. The image is larger than each tile. */
export function anAvif({ width = 128, height = 72 } = {}): Buffer {
  const sizeOf = (pixels: readonly [number, number]): Buffer => {
    const body = Buffer.alloc(12);
    pixels.forEach((side, place) => body.writeUInt32BE(side, 4 + 4 * place));
    return box("ispe", body);
  };
  const properties = box(
    "iprp",
    box("ipco", sizeOf([width / 2, height / 2]), box("pixi", Buffer.alloc(8)), sizeOf([width, height])),
  );
  return Buffer.concat([
    box("ftyp", Buffer.from("avif\0\0\0\0mif1miaf")),
    box("meta", Buffer.alloc(4), box("pitm", Buffer.alloc(6)), properties),
    box("mdat", Buffer.alloc(40)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}

/** Returns a segment of a JPEG. */
export function segment(marker: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0xff, marker, (data.length + 2) >> 8, (data.length + 2) & 255), data]);
}

function box(type: string, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length + 8);
  return Buffer.concat([length, Buffer.from(type), content]);
}
