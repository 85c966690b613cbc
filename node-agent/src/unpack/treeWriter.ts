import { constants, mkdirSync } from "node:fs";
import { chmod, type FileHandle, open } from "node:fs/promises";
import PQueue from "p-queue";
import type { ArchiveEntry } from "#archive/archiveInspector.ts";
import type { ArchiveSink } from "#archive/archiveReader.ts";
import { syncDirectory } from "../disk/files.ts";

/** How the files and directories of a tree end up. */
export interface TreeStyle {
  fileMode: number;
  /**
   * Of what the archive says may be executed, and of every program: archives made on Windows, or by a
   * library, often say it of none.
   */
  executableMode: number;
  directoryMode: number;
}

/** Writes what an ArchiveReader lets through below one fresh directory. */
export interface TreeWriter extends ArchiveSink {
  /**
   * Starts to carry out what was taken so far; resolves when the pieces, views of the reader's buffer, are
   * written.
   */
  flush(): Promise<void>;
  /** Resolves when everything is on disk with its final modes. */
  finish(): Promise<void>;
  /** Closes what is open after a failure. */
  abandon(): Promise<void>;
}

interface PendingFile {
  entry: ArchiveEntry;
  pieces: Buffer[];
  /** Its first bytes, as far as they have come. */
  head: Buffer;
  handle: FileHandle | undefined;
  isComplete: boolean;
  /** The writing of the pieces before these. */
  written: Promise<void>;
}

/**
 * The directory is new and nobody else writes to it, and each file must be new: no link can lead out of it.
 */
const createNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const filesAtOnce = 16;
/**
 * In January 2038. Some file systems, and 32-bit programs, know no later time; archives that name one are
 * damaged or made to.
 */
const lastSecond = 2 ** 31 - 1;

/**
 * Returns a writer that makes directories and files below `root`, a fresh directory. Files keep their times,
 * as games tell by them what has changed. `onWritten` is told of each piece of a file that lies there.
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
    // A copy, for the pieces' memory is used again.
    if (current.head.length < headBytes)
      current.head = Buffer.concat([current.head, bytes.subarray(0, headBytes - current.head.length)]);
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
    // The queue keeps the order, so what came before is at work already and never waits for this.
    const work = queue.add(async () => {
      await written;
      await write(file, pieces, isComplete);
    });
    file.written = work;
    writing.add(work);
    return work.finally(() => writing.delete(work));
  }

  async function write(file: PendingFile, pieces: Buffer[], isComplete: boolean): Promise<void> {
    const { entry } = file;
    const { path, isExecutable } = entry;
    const handle = (file.handle ??= await open(
      `${root}/${path}`,
      createNew,
      isExecutable ? style.executableMode : style.fileMode,
    ));
    openHandles.add(handle);
    for (const piece of pieces) {
      await writeWhole(handle, piece);
      onWritten?.(piece.length);
    }
    if (!isComplete) return;
    if (!isExecutable && isProgram(file.head)) await handle.chmod(style.executableMode);
    const time = Math.min(entry.mtimeSeconds, lastSecond);
    await handle.utimes(time, time);
    openHandles.delete(handle);
    await syncer.add(handle, entry.size);
  }

  async function finish(): Promise<void> {
    await syncer.drain();
    // Deepest first, the root last: a directory is closed to writing after everything in it. Full paths are
    // made one by one, as all of them take much memory.
    const paths = [...directories, ""].sort((left, right) => right.length - left.length);
    for (const path of paths) await chmod(`${root}/${path}`, style.directoryMode);
    // Several at a time share one commit of the file system's journal.
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

  return { entry, data, endEntry, flush, finish, abandon };
}

async function writeWhole(handle: FileHandle, piece: Buffer): Promise<void> {
  let rest = piece;
  while (rest.length > 0) rest = rest.subarray((await handle.write(rest)).bytesWritten);
}

/**
 * Waits for all, also when one fails, so that nothing still runs when the caller cleans up. Throws what
 * failed first.
 */
async function settleAll(work: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Bytes of a file by which the kernel knows how to start it. */
const beginnings = [Buffer.from("#!"), Buffer.from("\u007fELF")];

/** So many bytes tell whether a file is a program. */
const headBytes = Math.max(...beginnings.map(({ length }) => length));

/**
 * Returns whether a file that begins with these bytes is a script or a program: the kernel could start it.
 */
function isProgram(head: Buffer): boolean {
  return beginnings.some((beginning) => head.subarray(0, beginning.length).equals(beginning));
}

/** Writes files through to the disk beside other work, and closes them. */
interface Syncer {
  /** Takes the file over; resolves when there is room for another. */
  add(handle: FileHandle, bytes: number): Promise<void>;
  /** Resolves when all are done; rejects when one failed. */
  drain(): Promise<void>;
}

/** A round begins with so much, so that the disk is at work long before the last byte is there. */
const roundBytes = 128 * 1024 * 1024;
const roundFiles = 128;
const maxWaiting = 256;
/**
 * Two of libuv's four threads, so that the others go on unpacking; all of them when nothing else is left to
 * do.
 */
const atOnceBeside = 2;
const atOnceAlone = 4;

/**
 * Returns a syncer. It works in rounds: many files at once share one commit of the file system's journal,
 * where each alone would take its own.
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
        void startRound(atOnceBeside);
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
