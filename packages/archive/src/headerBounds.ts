import { ArchiveRefused, type ArchiveRules } from "./archiveRules.ts";
import { tarBlockBytes } from "./tarHeader.ts";

/**
 * Bounds the headers that add neither a name nor bytes of a file, which the limits of entries and bytes do
 * not count: an archive of nothing else could go on for ever, as such blocks are packed a thousand to one.
 * Every method throws ArchiveRefused.
 */
export interface HeaderBounds {
  /** Counts an extended header of the given type flag, and the bytes of the archive that it takes. */
  addExtended(type: string, bytes: number): void;
  /** Counts a record of the extended header that was counted last. */
  addRecord(): void;
  /** Counts an entry for the root directory itself. */
  addRoot(): void;
}

/**
 * git writes one global header, tar one entry for the root of each directory that it packs, and an archive
 * that is joined of others has those of each. Other extended headers need no number: each entry has at most
 * one of a kind.
 */
const maxWithoutEntry = 1000;
/**
 * What extended headers may take, for each entry that an archive may have: one block for the header and three
 * for the longest path and a few times and names. An entry may have much more, as one with extended
 * attributes has; all of them together may not.
 */
const extendedBytesPerEntry = 4 * tarBlockBytes;
/**
 * The same of their records: the shortest take five bytes, and each takes its time to read. Writers need some
 * ten for all that they know of a file.
 */
const recordsPerEntry = 16;
/**
 * Those of one header: some ten fields of the entry, and sixty extended attributes, which bsdtar writes
 * twice.
 */
const maxRecordsOfHeader = 128;

const unbounded: HeaderBounds = {
  addExtended: () => undefined,
  addRecord: () => undefined,
  addRoot: () => undefined,
};

/** Returns bounds for an archive of which nothing was read. */
export function createHeaderBounds({
  headers,
  limits: { entries },
}: Pick<ArchiveRules, "headers" | "limits">): HeaderBounds {
  if (headers === "unbounded") return unbounded;
  const maxExtendedBytes = entries * extendedBytesPerEntry;
  const maxRecords = entries * recordsPerEntry;
  let records = 0;
  let recordsOfHeader = 0;
  let withoutEntry = 0;
  let extendedBytes = 0;

  function addWithoutEntry(): void {
    withoutEntry += 1;
    if (withoutEntry > maxWithoutEntry) {
      const tooMany = `${maxWithoutEntry} headers that stand for no file or directory (global headers, or ./ again and again)`;
      throw new ArchiveRefused(`has more than ${tooMany}: pack its files anew, in one go`);
    }
  }

  return {
    addExtended(type, bytes) {
      recordsOfHeader = 0;
      extendedBytes += bytes;
      if (extendedBytes > maxExtendedBytes) {
        throw new ArchiveRefused(
          `has more than ${maxExtendedBytes} bytes of extended headers: pack its files anew, without extended attributes`,
        );
      }
      if (type === "g") addWithoutEntry();
    },
    addRecord() {
      recordsOfHeader += 1;
      if (recordsOfHeader > maxRecordsOfHeader) {
        throw new ArchiveRefused(
          `has an extended header of more than ${maxRecordsOfHeader} records: pack its files anew, without extended attributes`,
        );
      }
      records += 1;
      if (records > maxRecords) {
        throw new ArchiveRefused(
          `has more than ${maxRecords} records in its extended headers: pack its files anew, without extended attributes`,
        );
      }
    },
    addRoot: addWithoutEntry,
  };
}
