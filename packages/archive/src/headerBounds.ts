import { ArchiveRefused, type ArchiveRules } from "./archiveRules.ts";
import { tarBlockBytes } from "./tarHeader.ts";

/**
 * Limits headers that add neither a name nor file content, which the limits of entries and bytes do not
 * count: an archive of such blocks could be endless, as they compress a thousand to one. Every method throws
 * ArchiveRefused.
 */
export interface HeaderBounds {
  /** Counts an extended header with its type flag and its size in the archive in bytes. */
  addExtended(type: string, bytes: number): void;
  /** Counts a record of the last extended header. */
  addRecord(): void;
  /** Counts an entry for the root directory. */
  addRoot(): void;
}

/**
 * git writes one global header, tar writes one root entry per packed directory, and a concatenated archive
 * has those of each part. Other extended headers need no limit: each entry has at most one of each kind.
 */
const maxWithoutEntry = 1000;
/**
 * Size limit of extended headers per entry that an archive may have: one block for the header and three for
 * the longest path and a few times and names. A single entry may exceed it, for example with extended
 * attributes; the total may not.
 */
const extendedBytesPerEntry = 4 * tarBlockBytes;
/**
 * The same limit for records: the shortest take five bytes, and each takes time to read. Writers need about
 * ten per file.
 */
const recordsPerEntry = 16;
/**
 * Limit of records in one header: about ten fields of the entry, and sixty extended attributes, which bsdtar
 * writes twice.
 */
const maxRecordsOfHeader = 128;

const unbounded: HeaderBounds = {
  addExtended: () => undefined,
  addRecord: () => undefined,
  addRoot: () => undefined,
};

/** Creates the limits for a new archive. */
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
      const tooMany = `${maxWithoutEntry} headers without a file or directory (global headers, or repeated ./ entries)`;
      throw new ArchiveRefused(`has more than ${tooMany}: create it again in one step`);
    }
  }

  return {
    addExtended(type, bytes) {
      recordsOfHeader = 0;
      extendedBytes += bytes;
      if (extendedBytes > maxExtendedBytes) {
        throw new ArchiveRefused(
          `has more than ${maxExtendedBytes} bytes of extended headers: create it again without extended attributes`,
        );
      }
      if (type === "g") addWithoutEntry();
    },
    addRecord() {
      recordsOfHeader += 1;
      if (recordsOfHeader > maxRecordsOfHeader) {
        throw new ArchiveRefused(
          `has an extended header of more than ${maxRecordsOfHeader} records: create it again without extended attributes`,
        );
      }
      records += 1;
      if (records > maxRecords) {
        throw new ArchiveRefused(
          `has more than ${maxRecords} records in its extended headers: create it again without extended attributes`,
        );
      }
    },
    addRoot: addWithoutEntry,
  };
}
