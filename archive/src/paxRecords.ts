import { ArchiveRefused } from "./archiveRefused.ts";
import { decodeUtf8 } from "./tarHeader.ts";

/** The fields of the next entry that an extended header overrides. */
export interface PaxOverrides {
  path?: string;
  size?: number;
  mtimeSeconds?: number;
}

/** Returns the overrides in an extended header; throws ArchiveRefused for damaged records and for sparse files. */
export function parsePaxRecords(body: Buffer): PaxOverrides {
  const overrides: PaxOverrides = {};
  for (const [key, value] of records(body)) {
    if (key === "path") overrides.path = decodeUtf8(value);
    else if (key === "size") overrides.size = wholeNumber(value.toString("latin1"));
    else if (key === "mtime") overrides.mtimeSeconds = seconds(value.toString("latin1"));
    else if (key.startsWith("GNU.sparse")) throw new ArchiveRefused("has a sparse file", { entry: overrides.path });
    else if (key === "hdrcharset" && !value.toString("latin1").startsWith("ISO-IR 10646")) {
      throw new ArchiveRefused("has names that are not declared as UTF-8");
    }
  }
  return overrides;
}

/** Throws ArchiveRefused for a global header that renames or resizes entries; it may carry a comment, as `git archive` writes. */
export function checkGlobalPaxRecords(body: Buffer): void {
  for (const [key] of records(body)) {
    if (["path", "size", "linkpath", "hdrcharset"].includes(key) || key.startsWith("GNU.")) {
      throw new ArchiveRefused(`has a global header that sets ${key}`);
    }
  }
}

/** Each record is `<length> <key>=<value>\n`, its length counting itself. */
function* records(body: Buffer): Generator<[key: string, value: Buffer]> {
  let rest = body;
  while (rest.length > 0) {
    const space = rest.indexOf(0x20);
    const digits = space < 1 ? "" : rest.toString("latin1", 0, space);
    const length = /^[1-9][0-9]{0,6}$/.test(digits) ? Number(digits) : 0;
    const equals = rest.indexOf(0x3d, space);
    if (length > rest.length || equals < 0 || equals >= length || rest[length - 1] !== 0x0a) {
      throw new ArchiveRefused("is damaged: an extended header cannot be read");
    }
    const key = decodeUtf8(rest.subarray(space + 1, equals));
    // GNU tar skips blanks before a key, others take them as part of it: they would read different names.
    if (!/^[^\s\0]+$/.test(key)) throw new ArchiveRefused("is damaged: an extended header has no proper key");
    yield [key, rest.subarray(equals + 1, length - 1)];
    rest = rest.subarray(length);
  }
}

function wholeNumber(text: string): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new ArchiveRefused("is damaged: an extended header's size is not a number");
  return value;
}

/** Returns 0 for times before 1970 and for what is not a number: nothing depends on them. */
function seconds(text: string): number {
  const value = /^[0-9]{1,12}(\.[0-9]*)?$/.test(text) ? Number(text) : 0;
  return Math.floor(value);
}
