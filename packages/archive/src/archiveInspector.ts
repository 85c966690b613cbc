import { ArchiveRefused, type ArchiveRules } from "./archiveRules.ts";
import { parseEntryName, createEntryTree } from "./entryTree.ts";
import { createHeaderBounds } from "./headerBounds.ts";
import type { TarEntry } from "./tarReader.ts";

/**
 * A file or directory that passed the rules. `path` is relative, has no trailing slash and is safe to join to
 * a directory.
 */
export interface ArchiveEntry {
  path: string;
  isDirectory: boolean;
  size: number;
  isExecutable: boolean;
  mtimeSeconds: number;
}

/** The size of an archive that passed the rules. */
export interface ArchiveSummary {
  /** Number of files and directories, including directories that only appear in paths. */
  entries: number;
  /** Total size of all files in bytes. */
  unpackedBytes: number;
}

/** Checks the entries of an archive while it is read. Throws ArchiveRefused. */
export interface ArchiveInspector {
  /** Number of names in memory. */
  readonly names: number;
  /** Counts an extended header with its type flag and its size in the archive in bytes. */
  extended(type: string, bytes: number): void;
  /** Counts a record of an extended header. */
  record(): void;
  /** Checks an entry. Returns undefined for the root directory. */
  entry(header: TarEntry): ArchiveEntry | undefined;
  /**
   * Checks the compression ratio so far. Call it at intervals with the packed bytes read and the bytes
   * unpacked.
   */
  progress(packedBytes: number, unpackedBytes: number): void;
  finish(): ArchiveSummary;
}

const refusedTypes: Readonly<Record<string, string>> = {
  1: "is a hard link",
  2: "is a symbolic link",
  3: "is a character device",
  4: "is a block device",
  6: "is a FIFO",
  S: "is a sparse file",
};

/** Creates an inspector. `packedTotal` is the size of the packed archive, if it is known. */
export function createArchiveInspector(
  rules: ArchiveRules,
  packedTotal: number | undefined,
): ArchiveInspector {
  const { limits, names, launcher, engineDir } = rules;
  const tree = createEntryTree(names);
  const headers = createHeaderBounds(rules);
  let entries = 0;
  let pathsBytes = 0;
  let unpackedBytes = 0;
  let hasLauncher = false;
  let read = { packed: 0, unpacked: 0 };

  function entry({ name, type, size, mode, mtimeSeconds }: TarEntry): ArchiveEntry | undefined {
    const isDirectory = type === "5";
    if (!isDirectory && type !== "0")
      throw new ArchiveRefused(refusedTypes[type] ?? "is neither a file nor a directory", { entry: name });
    if (!isDirectory && name.endsWith("/"))
      throw new ArchiveRefused("is a file but named like a directory", { entry: name });
    if (isDirectory && size !== 0) throw new ArchiveRefused("is a directory with content", { entry: name });
    const components = parseEntryName(name, names);
    if (components.length === 0) {
      if (!isDirectory) throw new ArchiveRefused("has no name", { entry: name });
      headers.addRoot();
      return undefined;
    }
    entries += tree.add(components, isDirectory);
    if (entries > limits.entries)
      throw new ArchiveRefused(`has more than ${limits.entries} files and directories`);
    const path = components.join("/");
    pathsBytes += Buffer.byteLength(path);
    if (pathsBytes > limits.pathsBytes)
      throw new ArchiveRefused(`has more than ${limits.pathsBytes} bytes of paths in total`);
    unpackedBytes += size;
    if (unpackedBytes > limits.unpackedBytes) {
      throw new ArchiveRefused(`makes the archive unpack to more than ${limits.unpackedBytes} bytes`, {
        entry: name,
      });
    }
    if (!isDirectory && path === launcher && size > 0) hasLauncher = true;
    return { path, isDirectory, size, isExecutable: (mode & 0o111) !== 0, mtimeSeconds };
  }

  function progress(packed: number, unpacked: number): void {
    read = { packed, unpacked };
    if (packedTotal !== undefined) checkRatio();
    else if (unpacked - packed * limits.ratio > limits.ratioAheadBytes) {
      throw new ArchiveRefused(
        `starts with data that unpacks to far more than ${limits.ratio} times its size: send it with its Content-Length`,
      );
    }
  }

  /**
   * Checked before the end only if the total size is known: the start of an archive may compress better than
   * the rest.
   */
  function checkRatio(): void {
    const { packed, unpacked } = read;
    if (unpacked > limits.ratioFreeBytes && unpacked > Math.max(packed, packedTotal ?? 0) * limits.ratio) {
      throw new ArchiveRefused(`unpacks to more than ${limits.ratio} times its size`);
    }
  }

  function finish(): ArchiveSummary {
    checkRatio();
    if (launcher !== undefined && !hasLauncher)
      throw new ArchiveRefused(
        `has no file ${JSON.stringify(launcher)} with content at its root (the launcher)`,
      );
    if (engineDir !== undefined && !tree.hasDirectory(engineDir)) {
      throw new ArchiveRefused(
        `has no directory ${JSON.stringify(engineDir)} at its root (the engine directory)`,
      );
    }
    return { entries, unpackedBytes };
  }

  return {
    get names() {
      return entries;
    },
    extended: (type, bytes) => headers.addExtended(type, bytes),
    record: () => headers.addRecord(),
    entry,
    progress,
    finish,
  };
}
