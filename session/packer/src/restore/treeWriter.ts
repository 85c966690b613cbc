import { closeSync, futimesSync, mkdirSync, openSync, writeSync } from "node:fs";
import type { ArchiveEntry } from "#archive/archiveInspector.ts";
import type { ArchiveSink } from "#archive/archiveReader.ts";
import { createNew } from "../spool/spoolFiles.ts";

/**
 * Writes the entries that an archive reader accepts below one new directory, which nobody else writes to yet.
 */
export interface TreeWriter extends Required<ArchiveSink> {
  /** Closes the open file after a failure. */
  close(): void;
}

/** Returns a writer below this directory. Files keep their times, as games list saves by them. */
export function createTreeWriter(root: string): TreeWriter {
  const directories = new Set<string>();
  let file: number | undefined;
  let mtimeSeconds = 0;

  function ensureDirectory(path: string): void {
    if (path === "" || directories.has(path)) return;
    ensureDirectory(parentOf(path));
    mkdirSync(`${root}/${path}`, { mode: 0o700 });
    directories.add(path);
  }

  function close(): void {
    if (file !== undefined) closeSync(file);
    file = undefined;
  }

  return {
    entry({ path, isDirectory, isExecutable, mtimeSeconds: time }: ArchiveEntry) {
      ensureDirectory(isDirectory ? path : parentOf(path));
      if (isDirectory) return;
      file = openSync(`${root}/${path}`, createNew, isExecutable ? 0o700 : 0o600);
      mtimeSeconds = time;
    },
    data(bytes) {
      for (let rest = bytes; file !== undefined && rest.length > 0;)
        rest = rest.subarray(writeSync(file, rest));
    },
    endEntry() {
      if (file !== undefined) futimesSync(file, mtimeSeconds, mtimeSeconds);
      close();
    },
    close,
  };
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}
