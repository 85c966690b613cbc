import { ArchiveRefused } from "./archiveRules.ts";

/** A 512-byte header block, before extended headers are applied. */
export interface RawTarHeader {
  name: Buffer;
  size: number;
  mode: number;
  mtimeSeconds: number;
  /** The type flag. NUL is returned as `0`. */
  type: string;
  /** Whether it has GNU tar's magic instead of POSIX's. */
  isGnu: boolean;
}

export const tarBlockBytes = 512;

const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes a name or an extended record. Throws ArchiveRefused if it is not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new ArchiveRefused("has a name that is not UTF-8", {
      entry: Buffer.from(bytes).toString("latin1"),
      cause,
    });
  }
}

/** Parses a header block. Throws ArchiveRefused if it is neither POSIX nor GNU tar. */
export function parseTarHeader(block: Buffer): RawTarHeader {
  if (checksumOf(block) !== octal(block, 148, 8))
    throw new ArchiveRefused("is not a tar archive, or is damaged: a header's checksum is wrong");
  const magic = block.toString("latin1", 257, 265);
  // Some writers leave out the version, which says nothing.
  const isPosix = magic.startsWith("ustar\0");
  if (!isPosix && magic !== "ustar  \0") throw new ArchiveRefused("is not a POSIX tar archive");
  const name = cString(block, 0, 100);
  // GNU tar stores times and offsets in the field where POSIX stores the name's prefix.
  const prefix = isPosix ? cString(block, 345, 155) : Buffer.alloc(0);
  const flag = block.toString("latin1", 156, 157);
  return {
    name: prefix.length === 0 ? name : Buffer.concat([prefix, Buffer.from("/"), name]),
    size: numberField(block, 124, 12, "size"),
    mode: numberField(block, 100, 8, "mode"),
    mtimeSeconds: time(block, 136, 12),
    type: flag === "\0" ? "0" : flag,
    isGnu: !isPosix,
  };
}

/** Returns whether all bytes are zero, as in the two blocks at the end of an archive. */
export function isZeroBlock(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0) return false;
  return true;
}

/** Returns the checksum of the block, which counts the checksum field itself as spaces. */
function checksumOf(block: Buffer): number {
  let sum = 8 * 0x20;
  for (let index = 0; index < tarBlockBytes; index += 1) {
    if (index < 148 || index >= 156) sum += block[index] ?? 0;
  }
  return sum;
}

function cString(block: Buffer, start: number, length: number): Buffer {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end));
}

/**
 * Parses octal digits, or GNU base-256 if the first bit is set. An empty field is 0: .NET and Rust leave out
 * the size and times of directories.
 *
 * @throws ArchiveRefused
 */
export function numberField(block: Buffer, start: number, length: number, what: string): number {
  const value = parseNumber(block, start, length);
  if (value === undefined) throw new ArchiveRefused(`is damaged: a header's ${what} is not a number`);
  return value;
}

function parseNumber(block: Buffer, start: number, length: number): number | undefined {
  if (((block[start] ?? 0) & 0x80) !== 0) return base256(block, start, length);
  return isZeroBlock(block.subarray(start, start + length)) ? 0 : octal(block, start, length);
}

/**
 * Returns 0 for times before 1970, which writers encode in several ways, and for other times that are not
 * numbers, because nothing depends on them.
 */
function time(block: Buffer, start: number, length: number): number {
  return parseNumber(block, start, length) ?? 0;
}

function octal(block: Buffer, start: number, length: number): number | undefined {
  const [, digits] = /^ *([0-7]+)[ \0]*$/.exec(block.toString("latin1", start, start + length)) ?? [];
  if (digits === undefined) return undefined;
  const value = Number.parseInt(digits, 8);
  return Number.isSafeInteger(value) ? value : undefined;
}

function base256(block: Buffer, start: number, length: number): number | undefined {
  if (block[start] !== 0x80) return undefined; // Negative, or far beyond any limit.
  let value = 0;
  for (const byte of block.subarray(start + 1, start + length)) {
    value = value * 256 + byte;
    if (!Number.isSafeInteger(value)) return undefined;
  }
  return value;
}
