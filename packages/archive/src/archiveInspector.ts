import { ArchiveRefused, createRefusalList, type ArchiveRules } from "./archiveRules.ts";
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
  /** Checks an entry. Returns undefined for the root directory, and for an entry that is refused later. */
  entry(header: TarEntry): ArchiveEntry | undefined;
  /**
   * Checks the compression ratio so far. Call it at intervals with the packed bytes read and the bytes
   * unpacked.
   */
  progress(packedBytes: number, unpackedBytes: number): void;
  /** Returns the error to throw for an error of the archive: entries that were refused before come first. */
  errorFor(error: unknown): unknown;
  finish(): ArchiveSummary;
}

const refusedTypes: Readonly<Record<string, string>> = {
  1: "is a hard link (GNU tar --hard-dereference stores files instead)",
  2: "is a symbolic link (tar --dereference stores what it points to)",
  3: "is a character device",
  4: "is a block device",
  6: "is a FIFO",
  S: "is a sparse file in an unknown format",
};

/** An entry's place in the tree; the path is empty for the root. `added` is the number of new names. */
interface Place {
  path: string;
  isDirectory: boolean;
  added: number;
}

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
  const refusals = createRefusalList();
  let hasLauncher = false;
  let read = { packed: 0, unpacked: 0 };

  /** Returns the entry's place in the tree. Throws ArchiveRefused. */
  function placeEntry({ name, type, size }: TarEntry): Place {
    const isDirectory = type === "5";
    if (!isDirectory && type !== "0")
      throw new ArchiveRefused(refusedTypes[type] ?? "is neither a file nor a directory", { entry: name });
    if (!isDirectory && name.endsWith("/"))
      throw new ArchiveRefused("is a file but named like a directory", { entry: name });
    if (isDirectory && size !== 0) throw new ArchiveRefused("is a directory with content", { entry: name });
    // Python's tarfile calls the root so when it is added with an empty name.
    const components = isDirectory && name === "/" ? [] : parseEntryName(name, names);
    if (components.length === 0 && !isDirectory) throw new ArchiveRefused("has no name", { entry: name });
    const added = components.length === 0 ? 0 : tree.add(components, isDirectory);
    return { path: components.join("/"), isDirectory, added };
  }

  /** Returns undefined when the entry is refused but the next ones can still be checked. */
  function tryPlaceEntry(header: TarEntry): Place | undefined {
    try {
      return placeEntry(header);
    } catch (error) {
      // Readers disagree whether a link has content.
      const hasKnownEnd = header.type === "0" || header.type === "5" || header.storedBytes === 0;
      if (rules.refusals === "first" || !hasKnownEnd || !(error instanceof ArchiveRefused)) throw error;
      refusals.add(error);
      return undefined;
    }
  }

  function entry(header: TarEntry): ArchiveEntry | undefined {
    const { name, size, mode, mtimeSeconds } = header;
    const place = tryPlaceEntry(header);
    if (place?.path === "") {
      headers.addRoot();
      return undefined;
    }
    entries += place?.added ?? 1;
    if (entries > limits.entries)
      throw new ArchiveRefused(`has more than ${limits.entries} files and directories`);
    pathsBytes += Buffer.byteLength(place?.path ?? name);
    if (pathsBytes > limits.pathsBytes)
      throw new ArchiveRefused(`has more than ${limits.pathsBytes} bytes of paths in total`);
    unpackedBytes += size;
    if (unpackedBytes > limits.unpackedBytes) {
      throw new ArchiveRefused(`makes the archive unpack to more than ${limits.unpackedBytes} bytes`, {
        entry: name,
      });
    }
    if (place === undefined) return undefined;
    const { path, isDirectory } = place;
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
      refusals.add(
        new ArchiveRefused(`has no file ${JSON.stringify(launcher)} with content at its root (the launcher)`),
      );
    if (engineDir !== undefined && !tree.hasDirectory(engineDir))
      refusals.add(
        new ArchiveRefused(
          `has no directory ${JSON.stringify(engineDir)} at its root (the engine directory)`,
        ),
      );
    refusals.throwAny();
    return { entries, unpackedBytes };
  }

  function errorFor(error: unknown): unknown {
    if (!(error instanceof ArchiveRefused)) return error;
    try {
      refusals.throwAny();
      return error;
    } catch (refused) {
      return refused;
    }
  }

  return {
    get names() {
      return entries;
    },
    extended: (type, bytes) => headers.addExtended(type, bytes),
    record: () => headers.addRecord(),
    entry,
    progress,
    errorFor,
    finish,
  };
}
