import { ArchiveRefused } from "./archiveRules.ts";
import { addSparseRecord, type SparseRecords } from "./sparse.ts";
import { decodeUtf8 } from "./tarHeader.ts";

/** The fields of the next entry that an extended header overrides. */
export interface PaxOverrides {
  path?: string;
  size?: number;
  mtimeSeconds?: number;
  sparse?: SparseRecords;
}

/** Called before each record is read. May throw. */
export type OnRecord = () => void;

/** Returns the overrides in an extended header. Throws ArchiveRefused for damaged records. */
export function parsePaxRecords(body: Buffer, onRecord: OnRecord): PaxOverrides {
  const overrides: PaxOverrides = {};
  for (const [key, value] of records(body, onRecord)) {
    if (key === "path") overrides.path = decodeUtf8(value);
    else if (key === "size") overrides.size = wholeNumber(value.toString("latin1"));
    else if (key === "mtime") overrides.mtimeSeconds = seconds(value.toString("latin1"));
    else if (key.startsWith("GNU.sparse.")) {
      overrides.sparse ??= { map: [] };
      if (key === "GNU.sparse.name") overrides.sparse.name = decodeUtf8(value);
      else addSparseRecord(overrides.sparse, key, value.toString("latin1"));
    } else if (key === "hdrcharset" && !isUtf8Charset(value.toString("latin1"))) {
      throw new ArchiveRefused("has names that are not declared as UTF-8");
    }
  }
  return overrides;
}

/**
 * Throws ArchiveRefused for a global header that renames or resizes entries. Comments, as written by `git
 * archive`, are allowed.
 */
export function checkGlobalPaxRecords(body: Buffer, onRecord: OnRecord): void {
  for (const [key] of records(body, onRecord)) {
    if (["path", "size", "linkpath", "hdrcharset"].includes(key) || key.startsWith("GNU.")) {
      throw new ArchiveRefused(`has a global header that sets ${key}`);
    }
  }
}

/** bsdtar declares `BINARY` in the C locale. The names still have to be UTF-8. */
function isUtf8Charset(charset: string): boolean {
  return charset.startsWith("ISO-IR 10646") || charset === "BINARY";
}

/** Yields the records. Each is `<length> <key>=<value>\n`, with a length that includes itself. */
function* records(body: Buffer, onRecord: OnRecord): Generator<[key: string, value: Buffer]> {
  // One character per byte: reading many short records from a string takes a third of the time.
  const text = body.toString("latin1");
  let start = 0;
  while (start < text.length) {
    onRecord();
    const space = text.indexOf(" ", start);
    const digits = text.slice(start, Math.max(start, space));
    const length = /^[1-9][0-9]{0,6}$/.test(digits) ? Number(digits) : 0;
    const end = start + length;
    const equals = text.indexOf("=", space);
    if (length === 0 || end > text.length || equals < 0 || equals >= end || text[end - 1] !== "\n") {
      throw new ArchiveRefused("is damaged: an extended header cannot be read");
    }
    const key = text.slice(space + 1, equals);
    yield [
      /^[!-~]+$/.test(key) ? key : unusualKey(body.subarray(space + 1, equals)),
      body.subarray(equals + 1, end - 1),
    ];
    start = end;
  }
}

/** Returns a key that is not plain ASCII. Throws if it is invalid. */
function unusualKey(bytes: Buffer): string {
  const key = decodeUtf8(bytes);
  // GNU tar skips blanks before a key, other readers treat them as part of it, so they would read different
  // names.
  if (!/^[^\s\0]+$/.test(key)) throw new ArchiveRefused("is damaged: an extended header has an invalid key");
  return key;
}

function wholeNumber(text: string): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value))
    throw new ArchiveRefused("is damaged: an extended header's size is not a number");
  return value;
}

/** Returns 0 for times before 1970 and invalid numbers, because nothing depends on them. */
function seconds(text: string): number {
  const value = /^[0-9]{1,12}(\.[0-9]*)?$/.test(text) ? Number(text) : 0;
  return Math.floor(value);
}
