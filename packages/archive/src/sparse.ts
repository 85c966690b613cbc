import { ArchiveRefused } from "./archiveRules.ts";
import { numberField, tarBlockBytes } from "./tarHeader.ts";

/**
 * Limit of a file's segments, which are kept in memory. Tools find one per hole that the file system reports.
 */
const maxSegments = 100_000;
/** Digits of the largest number in a map; no size has more. */
const maxDigits = 16;

/** Where the stored bytes of a sparse file belong. The rest of the file is zeros. */
export interface SparseFile {
  /** Size of the whole file. */
  size: number;
  /** Offset and length of each segment in turn; undefined if the map precedes the stored bytes. */
  map: number[] | undefined;
}

/** The `GNU.sparse` records of an extended header, in the versions 0.0, 0.1 and 1.0. */
export interface SparseRecords {
  name?: string;
  realSize?: number;
  major?: number;
  map: number[];
}

/** Receives the expanded content. */
interface SparseSink {
  data(bytes: Buffer): void;
  /** The next bytes of the entry are zeros that the archive does not store. */
  hole(bytes: number): void;
  /** The entry starts with a map of this size in the archive. */
  map(bytes: number): void;
}

/** Expands the stored bytes of one sparse file. Every method throws ArchiveRefused. */
export interface SparseBody {
  write(bytes: Buffer): void;
  /** Call it after the last stored byte. */
  finish(): void;
}

/** Reads one `GNU.sparse` record into `records`. Throws ArchiveRefused for an unknown or damaged one. */
export function addSparseRecord(records: SparseRecords, key: string, text: string): void {
  const invalid = (): never => {
    throw new ArchiveRefused(`is damaged: its record ${key} cannot be read`, { entry: records.name });
  };
  const number = (digits: string): number => {
    const value = /^[0-9]{1,16}$/.test(digits) ? Number(digits) : Number.NaN;
    return Number.isSafeInteger(value) ? value : invalid();
  };
  switch (key) {
    case "GNU.sparse.realsize":
    case "GNU.sparse.size":
      records.realSize = number(text);
      return;
    case "GNU.sparse.major":
      records.major = number(text);
      if (records.major > 1) invalid();
      return;
    case "GNU.sparse.offset":
      if (records.map.length % 2 !== 0) invalid();
      records.map.push(number(text));
      return;
    case "GNU.sparse.numbytes":
      if (records.map.length % 2 === 0) invalid();
      records.map.push(number(text));
      return;
    case "GNU.sparse.map":
      if (records.map.length > 0) invalid();
      records.map = text === "" ? [] : text.split(",").map(number);
      return;
    case "GNU.sparse.minor":
    case "GNU.sparse.numblocks":
      number(text);
      return;
    default:
      invalid();
  }
}

/** Returns the file that the records describe. Throws ArchiveRefused if they have no size. */
export function toSparseFile({ name, realSize, major, map }: SparseRecords): SparseFile {
  if (realSize === undefined)
    throw new ArchiveRefused("is damaged: it is a sparse file without a size", { entry: name });
  return { size: realSize, map: major === 1 ? undefined : map };
}

/** Offsets of the fields in a header block of type `S`, and in the blocks that continue its map. */
const oldHeader = { segments: 386, count: 4, isExtended: 482, realSize: 483 };
const oldExtension = { segments: 0, count: 21, isExtended: 504 };

/**
 * Reads the map in a block of GNU tar's old format into `map`. Returns whether another block continues it.
 * Throws ArchiveRefused.
 */
export function addOldSparseMap(map: number[], block: Buffer, isHeader: boolean): boolean {
  const { segments, count, isExtended } = isHeader ? oldHeader : oldExtension;
  for (let at = segments; at < segments + count * 24; at += 24) {
    if (block[at] === 0 && block[at + 12] === 0) break;
    map.push(numberField(block, at, 12, "segment"), numberField(block, at + 12, 12, "segment"));
  }
  if (map.length > 2 * maxSegments) throw tooManySegments(undefined);
  return block[isExtended] !== 0;
}

/** Returns the size of the whole file from a header block of type `S`. Throws ArchiveRefused. */
export function oldSparseSize(block: Buffer): number {
  return numberField(block, oldHeader.realSize, 12, "size");
}

/** Creates the expansion of an entry that stores `storedBytes`, including a map before its content. */
export function createSparseBody(
  { size, map }: SparseFile,
  entry: string,
  storedBytes: number,
  sink: SparseSink,
): SparseBody {
  const reader = map === undefined ? createMapReader(entry) : undefined;
  let segments = map;
  if (segments !== undefined) checkMap(segments, { size, storedBytes, entry });
  let next = 0;
  let position = 0;
  let read = 0;

  function write(bytes: Buffer): void {
    let rest = bytes;
    if (segments === undefined && reader !== undefined) {
      rest = rest.subarray(reader.write(rest));
      read += bytes.length - rest.length;
      segments = reader.result();
      if (segments === undefined) return;
      sink.map(read);
      checkMap(segments, { size, storedBytes: storedBytes - read, entry });
    }
    while (rest.length > 0) rest = rest.subarray(writeSegment(rest));
  }

  function writeSegment(bytes: Buffer): number {
    const [offset = 0, length = 0] = segments?.slice(next, next + 2) ?? [];
    if (offset > position) fill(offset);
    const piece = bytes.subarray(0, offset + length - position);
    if (piece.length > 0) sink.data(piece);
    position += piece.length;
    if (position === offset + length) next += 2;
    return piece.length;
  }

  function fill(to: number): void {
    sink.hole(to - position);
    position = to;
  }

  function finish(): void {
    if (segments === undefined) throw new ArchiveRefused("is damaged: its sparse map is cut off", { entry });
    if (size > position) fill(size);
  }

  return { write, finish };
}

/** Throws ArchiveRefused unless the segments are ordered, inside the file, and as large as what is stored. */
function checkMap(
  map: readonly number[],
  { size, storedBytes, entry }: { size: number; storedBytes: number; entry: string },
): void {
  if (map.length > 2 * maxSegments) throw tooManySegments(entry);
  let end = 0;
  let total = 0;
  let isValid = map.length % 2 === 0;
  for (let at = 0; isValid && at < map.length; at += 2) {
    const [offset = 0, length = 0] = [map[at], map[at + 1]];
    isValid = offset >= end && length <= size - offset;
    end = offset + length;
    total += length;
  }
  if (!isValid || total !== storedBytes)
    throw new ArchiveRefused("is damaged: its sparse map does not match its content", { entry });
}

function tooManySegments(entry: string | undefined): ArchiveRefused {
  return new ArchiveRefused(
    `is a sparse file of more than ${maxSegments} segments: copy it without holes (cp --sparse=never)`,
    { entry },
  );
}

/**
 * Reads a map of version 1.0: the number of segments, then offset and length of each, as decimal lines that
 * are padded to a block.
 */
function createMapReader(entry: string): {
  /** Returns the number of bytes that belong to the map. */
  write(bytes: Buffer): number;
  /** Returns the map once it is complete. */
  result(): number[] | undefined;
} {
  const map: number[] = [];
  let expected: number | undefined;
  let digits = "";
  let read = 0;

  function addLine(): void {
    const value = Number(digits);
    if (digits === "" || !Number.isSafeInteger(value))
      throw new ArchiveRefused("is damaged: its sparse map cannot be read", { entry });
    digits = "";
    if (expected !== undefined) map.push(value);
    else if (value > maxSegments) throw tooManySegments(entry);
    else expected = 2 * value;
  }

  function isComplete(): boolean {
    return map.length === expected;
  }

  return {
    write(bytes) {
      for (const [at, byte] of bytes.entries()) {
        if (isComplete() && read % tarBlockBytes === 0) return at;
        read += 1;
        if (isComplete()) continue; // Padding.
        if (byte === 0x0a) addLine();
        else if (byte >= 0x30 && byte <= 0x39 && digits.length < maxDigits)
          digits += String.fromCharCode(byte);
        else throw new ArchiveRefused("is damaged: its sparse map cannot be read", { entry });
      }
      return bytes.length;
    },
    result: () => (isComplete() && read % tarBlockBytes === 0 ? map : undefined),
  };
}
