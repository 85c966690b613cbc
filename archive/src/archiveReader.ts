import { createArchiveInspector, type ArchiveEntry, type ArchiveSummary } from "./archiveInspector.ts";
import type { ArchiveRules } from "./archiveRules.ts";
import { createTarReader } from "./tarReader.ts";

/** Receives what passed the rules: an entry, its bytes in pieces (views of what was written), its end. */
export interface ArchiveSink {
  entry?(entry: ArchiveEntry): void;
  data?(bytes: Buffer): void;
  endEntry?(): void;
}

/** A tar reader under Joypod's rules: the one way in which uploads are judged and archives are unpacked. */
export interface ArchiveReader {
  /** Takes the next uncompressed bytes; `packedBytes` is how much of the packed archive was read so far. */
  write(bytes: Buffer, packedBytes: number): void;
  /** Call after the last byte. */
  finish(): ArchiveSummary;
}

/** Reads synchronously and keeps only the names; every method throws ArchiveRefused, after which the reader is of no more use. */
export function createArchiveReader(rules: ArchiveRules, sink: ArchiveSink = {}): ArchiveReader {
  const inspector = createArchiveInspector(rules);
  let isPassed = false;
  let written = 0;
  const tar = createTarReader({
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
