import { createArchiveInspector, type ArchiveEntry, type ArchiveSummary } from "./archiveInspector.ts";
import type { ArchiveRules } from "./archiveRules.ts";
import { createTarReader } from "./tarReader.ts";

/** Receives accepted content: an entry, its bytes in chunks (views of the input), and its end. */
export interface ArchiveSink {
  entry?(entry: ArchiveEntry): void;
  data?(bytes: Buffer): void;
  /** The next bytes of the entry are zeros that the archive does not store. A sink with `data` needs it. */
  hole?(bytes: number): void;
  endEntry?(): void;
}

/**
 * A tar reader that enforces the archive rules. All uploads are checked and all archives are unpacked with
 * it.
 */
export interface ArchiveReader {
  /** Number of names in memory: of entries, and of directories that only appear in paths. */
  readonly names: number;
  /** Reads the next uncompressed bytes. `packedBytes` is the number of packed bytes read so far. */
  write(bytes: Buffer, packedBytes: number): void;
  /** Returns the summary. Call it after the last byte. */
  finish(): ArchiveSummary;
}

/**
 * Creates a synchronous reader that only keeps names in memory. `packedTotal` is the size of the packed
 * archive, if it is known in advance. Every method throws ArchiveRefused; the reader cannot be used
 * afterwards.
 */
export function createArchiveReader(
  rules: ArchiveRules,
  sink: ArchiveSink = {},
  packedTotal?: number,
): ArchiveReader {
  const inspector = createArchiveInspector(rules, packedTotal);
  let isPassed = false;
  let packed = 0;
  /** Bytes of the archive, and of the holes in its files so far. */
  let unpacked = 0;
  const tar = createTarReader({
    extended: (type, bytes) => inspector.extended(type, bytes),
    record: () => inspector.record(),
    entry(header) {
      unpacked += Math.max(0, header.size - header.storedBytes);
      inspector.progress(packed, unpacked);
      const entry = inspector.entry(header);
      isPassed = entry !== undefined;
      if (entry !== undefined) sink.entry?.(entry);
    },
    data(bytes) {
      if (isPassed) sink.data?.(bytes);
    },
    hole(bytes) {
      if (isPassed) sink.hole?.(bytes);
    },
    endEntry() {
      if (isPassed) sink.endEntry?.();
    },
  });
  return {
    get names() {
      return inspector.names;
    },
    write: (bytes, packedBytes) =>
      orRefuse(() => {
        packed = packedBytes;
        unpacked += bytes.length;
        inspector.progress(packed, unpacked);
        tar.write(bytes);
      }),
    finish: () =>
      orRefuse(() => {
        tar.finish();
        return inspector.finish();
      }),
  };

  function orRefuse<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw inspector.errorFor(error);
    }
  }
}
