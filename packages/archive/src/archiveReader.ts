import { createArchiveInspector, type ArchiveEntry, type ArchiveSummary } from "./archiveInspector.ts";
import type { ArchiveRules } from "./archiveRules.ts";
import { createTarReader } from "./tarReader.ts";

/** Receives what passed the rules: an entry, its bytes in chunks (views of what was written), its end. */
export interface ArchiveSink {
  entry?(entry: ArchiveEntry): void;
  data?(bytes: Buffer): void;
  endEntry?(): void;
}

/** A tar reader that enforces Joypod's rules; uploads are checked and archives are unpacked with it alone. */
export interface ArchiveReader {
  /** How many names are in memory: of entries, and of directories that only their paths name. */
  readonly names: number;
  /** Reads the next uncompressed bytes; `packedBytes` counts those read of the packed archive so far. */
  write(bytes: Buffer, packedBytes: number): void;
  /** Returns the summary; call after the last byte. */
  finish(): ArchiveSummary;
}

/**
 * Returns a reader that is synchronous and keeps only the names in memory. `packedTotal` is the size of the
 * whole packed archive, where it is known before its end. Every method throws ArchiveRefused; after that the
 * reader cannot be used.
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
