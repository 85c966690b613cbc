import { createArchiveInspector, type ArchiveEntry, type ArchiveSummary } from "./archiveInspector.ts";
import type { ArchiveRules } from "./archiveRules.ts";
import { createTarReader } from "./tarReader.ts";

/** Receives accepted content: an entry, its bytes in chunks (views of the input), and its end. */
export interface ArchiveSink {
  entry?(entry: ArchiveEntry): void;
  data?(bytes: Buffer): void;
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
  let written = 0;
  const tar = createTarReader({
    extended: (type, bytes) => inspector.extended(type, bytes),
    record: () => inspector.record(),
    entry(header) {
      const entry = inspector.entry(header);
      isPassed = entry !== undefined;
      if (entry !== undefined) sink.entry?.(entry);
    },
    data: (bytes) => sink.data?.(bytes),
    endEntry() {
      if (isPassed) sink.endEntry?.();
    },
  });
  return {
    get names() {
      return inspector.names;
    },
    write(bytes, packedBytes) {
      written += bytes.length;
      inspector.progress(packedBytes, written);
      tar.write(bytes);
    },
    finish() {
      tar.finish();
      return inspector.finish();
    },
  };
}
