import { ArchiveRefused } from "./archiveRules.ts";
import { checkGlobalPaxRecords, parsePaxRecords, type PaxOverrides } from "./paxRecords.ts";
import {
  addOldSparseMap,
  createSparseBody,
  oldSparseSize,
  toSparseFile,
  type SparseBody,
  type SparseFile,
} from "./sparse.ts";
import { decodeUtf8, isZeroBlock, parseTarHeader, tarBlockBytes, type RawTarHeader } from "./tarHeader.ts";

/** An entry with its effective name and size. */
export interface TarEntry {
  name: string;
  /** Type flag: `0` for a file, `5` for a directory. The inspector rejects others. */
  type: string;
  size: number;
  /** Bytes in the archive: fewer than `size` for a sparse file, apart from its map. */
  storedBytes: number;
  mode: number;
  mtimeSeconds: number;
}

/**
 * Receives the content of an archive in order: extended headers, their entry, its bytes in chunks, and its
 * end. Chunks are views of the input.
 */
export interface TarSink {
  /**
   * An extended header starts, with its size in the archive in bytes. The type flag `g` marks a global
   * header.
   */
  extended(type: string, bytes: number): void;
  /** The extended header has another record. */
  record(): void;
  entry(entry: TarEntry): void;
  data(bytes: Buffer): void;
  /** The next bytes of the entry are zeros that the archive does not store. */
  hole(bytes: number): void;
  endEntry(): void;
}

/** Size limit of extended headers, which are kept in memory. */
const maxExtendedBytes = 64 * 1024;
/** Limit of padding after the end marker. Writers usually pad to 10 KiB. */
const maxTrailingBytes = 1024 * 1024;

type Section =
  | { kind: "header" }
  | { kind: "body"; sparse: SparseBody | undefined }
  | { kind: "sparseMap"; raw: RawTarHeader; file: SparseFile & { map: number[] } }
  | { kind: "extended"; type: string; parts: Buffer[] }
  | { kind: "padding" }
  | { kind: "end" };

/**
 * A strict, synchronous reader of uncompressed tar. Throws ArchiveRefused for anything that is not well
 * defined.
 */
export interface TarReader {
  write(bytes: Buffer): void;
  /** Call it after the last byte. Throws if the archive ends before its end marker. */
  finish(): void;
}

export function createTarReader(sink: TarSink): TarReader {
  let section: Section = { kind: "header" };
  let block: Buffer = Buffer.alloc(0);
  let left = 0;
  let padding = 0;
  let zeroBlocks = 0;
  let trailing = 0;
  let overrides: PaxOverrides = {};
  /** Types of the extended headers of the next entry. */
  let extended = "";
  const sparseSink = {
    data: (bytes: Buffer): void => sink.data(bytes),
    hole: (bytes: number): void => sink.hole(bytes),
    map: (bytes: number): void => sink.extended("S", bytes),
  };

  function write(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0) rest = rest.subarray(consume(rest));
  }

  function consume(bytes: Buffer): number {
    switch (section.kind) {
      case "header":
        return readHeaderBytes(bytes);
      case "sparseMap":
        return readHeaderBytes(bytes);
      case "body":
        return readBody(bytes, section);
      case "extended":
        return readExtended(bytes, section);
      case "padding":
        return readPadding(bytes);
      case "end":
        return readTrailing(bytes);
    }
  }

  function readHeaderBytes(bytes: Buffer): number {
    const taken = bytes.subarray(0, tarBlockBytes - block.length);
    block = block.length === 0 && taken.length === tarBlockBytes ? taken : Buffer.concat([block, taken]);
    if (block.length === tarBlockBytes) {
      const whole = block;
      block = Buffer.alloc(0);
      if (section.kind === "sparseMap") continueSparseMap(whole, section);
      else readHeader(whole);
    }
    return taken.length;
  }

  function readHeader(header: Buffer): void {
    if (isZeroBlock(header)) {
      zeroBlocks += 1;
      if (zeroBlocks === 2) section = { kind: "end" };
      return;
    }
    if (zeroBlocks > 0) throw new ArchiveRefused("continues after a block of zeros");
    const raw = parseTarHeader(header);
    if ("xgLK".includes(raw.type)) startExtended(raw);
    else if (raw.type === "S" && raw.isGnu) startOldSparse(raw, header);
    else startEntry(raw, overrides.sparse && toSparseFile(overrides.sparse));
  }

  /** GNU tar's old format, in which the map follows in the header and the blocks after it. */
  function startOldSparse(raw: RawTarHeader, header: Buffer): void {
    const file = { size: oldSparseSize(header), map: [] };
    if (!addOldSparseMap(file.map, header, true)) startEntry({ ...raw, type: "0" }, file);
    else section = { kind: "sparseMap", raw: { ...raw, type: "0" }, file };
  }

  function continueSparseMap(bytes: Buffer, { raw, file }: Section & { kind: "sparseMap" }): void {
    sink.extended("S", tarBlockBytes);
    if (!addOldSparseMap(file.map, bytes, false)) startEntry(raw, file);
  }

  function startExtended({ type, size }: RawTarHeader): void {
    // If there are two, some readers apply both and others only the last one.
    if (type !== "g" && extended.includes(type))
      throw new ArchiveRefused("has two extended headers of one kind for one entry", {
        entry: overrides.path,
      });
    extended += type === "g" ? "" : type;
    if (size > maxExtendedBytes)
      throw new ArchiveRefused(`has an extended header of more than ${maxExtendedBytes} bytes`);
    startBody(size);
    sink.extended(type, tarBlockBytes + size + padding);
    section = { kind: "extended", type, parts: [] };
    if (size === 0) endExtended(type, Buffer.alloc(0));
  }

  function startEntry(raw: RawTarHeader, file: SparseFile | undefined): void {
    const storedBytes = overrides.size ?? raw.size;
    const entry = {
      name: overrides.sparse?.name ?? overrides.path ?? decodeUtf8(raw.name),
      type: raw.type,
      size: file?.size ?? storedBytes,
      storedBytes,
      mode: raw.mode,
      mtimeSeconds: overrides.mtimeSeconds ?? raw.mtimeSeconds,
    };
    overrides = {};
    extended = "";
    sink.entry(entry);
    // The inspector let only files and directories pass, and directories have no bytes.
    startBody(storedBytes);
    const sparse = file && createSparseBody(file, entry.name, storedBytes, sparseSink);
    section = { kind: "body", sparse };
    if (left === 0) endBody(sparse);
  }

  function startBody(size: number): void {
    left = size;
    padding = (tarBlockBytes - (size % tarBlockBytes)) % tarBlockBytes;
  }

  function readBody(bytes: Buffer, { sparse }: Section & { kind: "body" }): number {
    const chunk = bytes.length <= left ? bytes : bytes.subarray(0, left);
    if (sparse === undefined) sink.data(chunk);
    else sparse.write(chunk);
    left -= chunk.length;
    if (left === 0) endBody(sparse);
    return chunk.length;
  }

  function endBody(sparse: SparseBody | undefined): void {
    sparse?.finish();
    sink.endEntry();
    section = { kind: padding === 0 ? "header" : "padding" };
  }

  function readExtended(bytes: Buffer, { type, parts }: Section & { kind: "extended" }): number {
    const chunk = bytes.subarray(0, left);
    parts.push(Buffer.from(chunk));
    left -= chunk.length;
    if (left === 0) endExtended(type, Buffer.concat(parts));
    return chunk.length;
  }

  function endExtended(type: string, body: Buffer): void {
    section = { kind: padding === 0 ? "header" : "padding" };
    if (type === "g") checkGlobalPaxRecords(body, () => sink.record());
    else if (type === "x")
      overrides = merged(
        overrides,
        parsePaxRecords(body, () => sink.record()),
      );
    else if (type === "L") overrides = merged(overrides, { path: decodeUtf8(withoutNul(body)) });
    // "K" names a link's target; the link itself is rejected by its own header.
  }

  function readPadding(bytes: Buffer): number {
    const taken = Math.min(padding, bytes.length);
    padding -= taken;
    if (padding === 0) section = { kind: "header" };
    return taken;
  }

  function readTrailing(bytes: Buffer): number {
    trailing += bytes.length;
    if (trailing > maxTrailingBytes) throw new ArchiveRefused("has too many bytes after its end marker");
    if (!isZeroBlock(bytes)) throw new ArchiveRefused("continues after its end marker");
    return bytes.length;
  }

  function finish(): void {
    if (section.kind !== "end") throw new ArchiveRefused("ends too early: its end marker is missing");
  }

  return { write, finish };
}

/**
 * Rejects two extended headers with different names for an entry, because readers disagree about which one
 * counts.
 */
function merged(known: PaxOverrides, added: PaxOverrides): PaxOverrides {
  if (known.path !== undefined && added.path !== undefined && known.path !== added.path) {
    throw new ArchiveRefused("has two different names", { entry: added.path });
  }
  return { ...known, ...added };
}

function withoutNul(body: Buffer): Buffer {
  const end = body.indexOf(0);
  return end < 0 ? body : body.subarray(0, end);
}
