import { constants, mkdirSync } from "node:fs";
import { chmod, type FileHandle, open } from "node:fs/promises";
import PQueue from "p-queue";
import type { ArchiveEntry } from "#archive/archiveInspector.ts";
import type { ArchiveSink } from "#archive/archiveReader.ts";
import { syncDirectory } from "../disk/files.ts";

/** File modes of a tree. */
export interface TreeStyle {
  fileMode: number;
  /**
   * Mode of files that are executable in the archive, and of every program: archives made on Windows or by a
   * library often lack the executable bit.
   */
  executableMode: number;
  directoryMode: number;
}

/** Writes the entries that an ArchiveReader accepts below one new directory. */
export interface TreeWriter extends ArchiveSink {
  /**
   * Starts the writes accepted so far. Resolves when the pieces, which are views of the reader's buffer, are
   * written.
   */
  flush(): Promise<void>;
  /** Resolves when everything is on disk with its final modes. */
  finish(): Promise<void>;
  /** Closes open files after a failure. */
  abandon(): Promise<void>;
}

/** Bytes of a file, or a number of zeros that are left as a hole. */
type Piece = Buffer | number;

interface PendingFile {
  entry: ArchiveEntry;
  pieces: Piece[];
  /** Where the next piece is written. */
  position: number;
  /** The first bytes of the file, as far as they have arrived. */
  head: Buffer;
  handle: FileHandle | undefined;
  isComplete: boolean;
  /** Resolves when the previous pieces are written. */
  written: Promise<void>;
}

/**
 * The directory is new, nobody else writes to it, and each file must be new, so no link can lead out of it.
 */
const createNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const filesAtOnce = 16;
/**
 * In January 2038. Some file systems, and 32-bit programs, support no later time. Archives with later times
 * are damaged or malicious.
 */
const lastSecond = 2 ** 31 - 1;

/**
 * Returns a writer that creates directories and files below `root`, a new directory. Files keep their
 * modification times, because games use them to detect changes. `onWritten` is called with the size of each
 * piece written.
 */
export function createTreeWriter(
  root: string,
  style: TreeStyle,
  onWritten?: (bytes: number) => void,
): TreeWriter {
  const directories = new Set<string>();
  const syncer = createSyncer();
  const queue = new PQueue({ concurrency: filesAtOnce });
  const openHandles = new Set<FileHandle>();
  const writing = new Set<Promise<void>>();
  let pending: PendingFile[] = [];
  let current: PendingFile | undefined;

  function ensureDirectory(path: string): void {
    if (path === "" || directories.has(path)) return;
    ensureDirectory(parentOf(path));
    mkdirSync(`${root}/${path}`, { mode: 0o700 });
    directories.add(path);
  }

  function entry(taken: ArchiveEntry): void {
    if (taken.isDirectory) {
      ensureDirectory(taken.path);
      current = undefined;
      return;
    }
    ensureDirectory(parentOf(taken.path));
    current = {
      entry: taken,
      pieces: [],
      position: 0,
      head: Buffer.alloc(0),
      handle: undefined,
      isComplete: false,
      written: Promise.resolve(),
    };
    pending.push(current);
  }

  function data(bytes: Buffer): void {
    if (current === undefined) return;
    current.pieces.push(bytes);
    // Copied, because the pieces' memory is reused.
    if (current.head.length < headBytes)
      current.head = Buffer.concat([current.head, bytes.subarray(0, headBytes - current.head.length)]);
  }

  function hole(bytes: number): void {
    if (current === undefined) return;
    current.pieces.push(bytes);
    if (current.head.length < headBytes) current.head = Buffer.alloc(headBytes);
  }

  function endEntry(): void {
    if (current !== undefined) current.isComplete = true;
    current = undefined;
  }

  async function flush(): Promise<void> {
    const files = pending;
    pending = current === undefined ? [] : [current];
    await settleAll(files.map(advance));
  }

  function advance(file: PendingFile): Promise<void> {
    const { pieces, isComplete, written } = file;
    file.pieces = [];
    // The queue is ordered, so earlier work has already started and never waits for this.
    const work = queue.add(async () => {
      await written;
      await write(file, pieces, isComplete);
    });
    file.written = work;
    writing.add(work);
    return work.finally(() => writing.delete(work));
  }

  async function write(file: PendingFile, pieces: Piece[], isComplete: boolean): Promise<void> {
    const { entry } = file;
    const { path, isExecutable } = entry;
    const handle = (file.handle ??= await open(
      `${root}/${path}`,
      createNew,
      isExecutable ? style.executableMode : style.fileMode,
    ));
    openHandles.add(handle);
    for (const piece of pieces) {
      const bytes = typeof piece === "number" ? piece : piece.length;
      if (typeof piece !== "number") await writeWhole(handle, piece, file.position);
      file.position += bytes;
      onWritten?.(bytes);
    }
    if (!isComplete) return;
    if (typeof pieces.at(-1) === "number") await handle.truncate(entry.size);
    if (!isExecutable && isProgram(file.head)) await handle.chmod(style.executableMode);
    const time = Math.min(entry.mtimeSeconds, lastSecond);
    await handle.utimes(time, time);
    openHandles.delete(handle);
    await syncer.add(handle, entry.size);
  }

  async function finish(): Promise<void> {
    await syncer.drain();
    // Deepest first, the root last: a directory becomes read-only after everything in it. Full paths are
    // built one at a time, because all of them take much memory.
    const paths = [...directories, ""].sort((left, right) => right.length - left.length);
    for (const path of paths) await chmod(`${root}/${path}`, style.directoryMode);
    // Concurrent syncs share one commit of the file system's journal.
    for (let start = 0; start < paths.length; start += filesAtOnce) {
      await settleAll(
        paths.slice(start, start + filesAtOnce).map((path) => syncDirectory(`${root}/${path}`)),
      );
    }
  }

  async function abandon(): Promise<void> {
    await Promise.allSettled(writing);
    await syncer.drain().catch(() => undefined);
    await Promise.allSettled([...openHandles].map((handle) => handle.close()));
  }

  return { entry, data, hole, endEntry, flush, finish, abandon };
}

async function writeWhole(handle: FileHandle, piece: Buffer, position: number): Promise<void> {
  for (let done = 0; done < piece.length;)
    done += (await handle.write(piece, done, piece.length - done, position + done)).bytesWritten;
}

/**
 * Waits for all, even if one fails, so that nothing still runs when the caller cleans up. Throws the first
 * failure.
 */
async function settleAll(work: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Magic bytes by which the kernel recognizes a program. */
const beginnings = [Buffer.from("#!"), Buffer.from("\u007fELF")];

/** Number of bytes needed to recognize a program. */
const headBytes = Math.max(...beginnings.map(({ length }) => length));

/**
 * Returns whether a file that starts with these bytes is a script or a program that the kernel could start.
 */
function isProgram(head: Buffer): boolean {
  return beginnings.some((beginning) => head.subarray(0, beginning.length).equals(beginning));
}

/** Syncs files to disk in the background, and closes them. */
interface Syncer {
  /** Takes over the file handle. Resolves when there is room for another. */
  add(handle: FileHandle, bytes: number): Promise<void>;
  /** Resolves when all are done. Rejects if one failed. */
  drain(): Promise<void>;
}

/** Bytes that start a round, so that the disk is busy long before the last byte arrives. */
const roundBytes = 128 * 1024 * 1024;
const roundFiles = 128;
const maxWaiting = 256;
/**
 * Two of libuv's four threads, so that the others keep unpacking. All of them are used when nothing else is
 * left to do.
 */
const concurrencyWhileUnpacking = 2;
const atOnceAlone = 4;

/**
 * Returns a syncer. It works in rounds, because many files at once share one commit of the file system's
 * journal, whereas one at a time each needs a separate commit.
 */
function createSyncer(): Syncer {
  let waiting: FileHandle[] = [];
  let waitingBytes = 0;
  let running: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  function startRound(atOnce: number): Promise<void> {
    const handles = waiting;
    waiting = [];
    waitingBytes = 0;
    running = syncAll(handles, atOnce)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  return {
    async add(handle, bytes) {
      waiting.push(handle);
      waitingBytes += bytes;
      if (running === undefined && (waitingBytes >= roundBytes || waiting.length >= roundFiles))
        void startRound(concurrencyWhileUnpacking);
      while (waiting.length >= maxWaiting && running !== undefined) await running;
    },
    async drain() {
      while (running !== undefined || waiting.length > 0) await (running ?? startRound(atOnceAlone));
      if (failure !== undefined) throw failure.error;
    },
  };
}

async function syncAll(handles: FileHandle[], atOnce: number): Promise<void> {
  const queue = new PQueue({ concurrency: atOnce });
  const results = await Promise.allSettled(handles.map((handle) => queue.add(() => syncAndClose(handle))));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

async function syncAndClose(handle: FileHandle): Promise<void> {
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
