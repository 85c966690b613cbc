/**
 * Boxes that are looked into on the way to the size, and how many bytes each has before the first box in it.
 */
const containers: Readonly<Record<string, number>> = { meta: 4, iprp: 0, ipco: 0 };
/** Far more than a picture has at one level. */
const boxesMax = 256;
/** More than the way to the size has. */
const depthMax = 8;

/**
 * Returns the largest size that an AVIF names, as a grid's is larger than its tiles'; undefined for any other
 * bytes, and for films.
 */
export function readAvifSize(bytes: Buffer): { width: number; height: number } | undefined {
  if (bytes.length < 16 || bytes.toString("latin1", 4, 12) !== "ftypavif") return undefined;
  const sizes = sizesIn(bytes, 0);
  if (sizes === undefined || sizes.length === 0) return undefined;
  return {
    width: Math.max(...sizes.map(({ width }) => width)),
    height: Math.max(...sizes.map(({ height }) => height)),
  };
}

/**
 * Returns undefined when a box goes beyond what it lies in, as in a download that was cut, and when boxes lie
 * in each other more deeply than pictures have them.
 */
function sizesIn(bytes: Buffer, depth: number): { width: number; height: number }[] | undefined {
  if (depth > depthMax) return undefined;
  const sizes = [];
  let offset = 0;
  for (let count = 0; offset + 8 <= bytes.length; count++) {
    const length = bytes.readUInt32BE(offset);
    const kind = bytes.toString("latin1", offset + 4, offset + 8);
    // 0 means "to the end", which only the last box has.
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
