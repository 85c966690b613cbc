import { constants, type FSWatcher, watch } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { z } from "zod";
import { spoolFileBytes, spoolNames } from "#contracts/nodeLayout.ts";
import { RestoreReport, SpoolManifest } from "#contracts/spool.ts";
import type { Source } from "#kube/cache/source.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";

/** The packer's output in a session's folder. */
export interface Spool {
  report?: RestoreReport;
  manifest?: SpoolManifest;
}

/** A file in the packer's folder was not written by the packer, or is lost. */
export class SpoolUnreadable extends Error {
  constructor(what: string, cause?: unknown, saying = "The packer's folder has unexpected content") {
    super(`${saying}: ${what}.`, { cause });
    this.name = "SpoolUnreadable";
  }
}

/**
 * Follows no link and opens nothing that can block, because the folder belongs to the user that games run as.
 */
const openUntrusted = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * Reads the packer's output for this session. Files of another session of the same name count as absent.
 *
 * @throws SpoolUnreadable
 */
export async function readSpool(sessionFolder: string, uid: string): Promise<Spool> {
  const [report, manifest] = await Promise.all([
    // A launch does not wait until the report is synced to disk, so a power loss may leave an empty file. The
    // report was written nevertheless, so a game may have run.
    readWord(`${sessionFolder}/${spoolNames.report}`, RestoreReport, uid, { version: 1, uid }),
    readWord(`${sessionFolder}/${spoolNames.manifest}`, SpoolManifest, uid),
  ]);
  return { ...(report && { report }), ...(manifest && { manifest }) };
}

/** An empty file is read as `whenEmpty` if that is defined. */
async function readWord<T extends { uid: string }>(
  path: string,
  schema: z.ZodType<T>,
  uid: string,
  whenEmpty?: T,
): Promise<T | undefined> {
  const text = await readBounded(path);
  if (text === undefined) return undefined;
  if (text === "" && whenEmpty !== undefined) return whenEmpty;
  const parsed = schema.safeParse(parseJson(text, path));
  if (!parsed.success) throw new SpoolUnreadable(`${path} does not match its schema`, parsed.error);
  return parsed.data.uid === uid ? parsed.data : undefined;
}

/** Returns the text of a small regular file. Undefined if it does not exist. */
async function readBounded(path: string): Promise<string | undefined> {
  const file = await openSpoolFile(path);
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > spoolFileBytes)
      throw new SpoolUnreadable(`${path} is not a file of at most ${spoolFileBytes} bytes`);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(spoolFileBytes), 0, spoolFileBytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * Error codes for a path that can never be opened as a file, by any user at any time: a link, a socket or a
 * folder.
 */
const untrustedCodes: ReadonlySet<string> = new Set(["ELOOP", "ENXIO", "EACCES", "ENOTDIR", "EISDIR"]);

/**
 * Opens an untrusted file of the packer's folder for reading. Returns undefined if it does not exist. Throws
 * SpoolUnreadable, or a transient error: a disk that fails once, or too many open files, must not cost a
 * session its last save.
 */
export async function openSpoolFile(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, openUntrusted);
  } catch (error) {
    const code = systemErrorCode(error) ?? "";
    if (code === "ENOENT") return undefined;
    if (!untrustedCodes.has(code)) throw error;
    throw new SpoolUnreadable(`${path} cannot be opened`, error);
  }
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SpoolUnreadable(`${path} is not JSON`, error);
  }
}

/**
 * The part of a session's spool that is read: the packer's words, or a pack. One may be readable while the
 * other is not.
 */
type SpoolPart = "words" | "pack";

/** Error codes of file systems that have detected damage. Every read returns them. */
const damageCodes: ReadonlySet<string> = new Set(["EUCLEAN", "EBADMSG"]);
/**
 * A disk that fails once must not cost a session its last save. After failing for this long, the save counts
 * as lost.
 */
const failingMs = 60_000;

/** Distinguishes spools that a disk has lost from temporary read failures. */
export class ReadFailures {
  readonly #clock: Clock;
  /** Since when every read of a part has failed, by game session. */
  readonly #failingSince = new Map<string, Map<SpoolPart, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the result of `read`. Throws SpoolUnreadable if the part is lost, and transient errors unchanged.
   */
  async during<T>(gameSession: string, part: SpoolPart, read: () => Promise<T>): Promise<T> {
    try {
      const result = await read();
      this.#failingSince.get(gameSession)?.delete(part);
      return result;
    } catch (error) {
      const code = systemErrorCode(error) ?? "";
      if (!damageCodes.has(code) && !(code === "EIO" && this.#isFailingFor(gameSession, part))) throw error;
      throw new SpoolUnreadable(code, error, "The packer's data cannot be read from the disk");
    }
  }

  /** Forgets a finished session. */
  forget(gameSession: string): void {
    this.#failingSince.delete(gameSession);
  }

  #isFailingFor(gameSession: string, part: SpoolPart): boolean {
    const now = this.#clock.monotonicMs();
    const parts = this.#failingSince.get(gameSession) ?? new Map<SpoolPart, number>();
    this.#failingSince.set(gameSession, parts);
    const since = parts.get(part) ?? now;
    parts.set(part, since);
    return now - since >= failingMs;
  }
}

/** Enqueues sessions when their packers write files. Missed changes are found by the next periodic pass. */
export interface SpoolWatcher extends Source {
  /** Watches a session's packed folder until `leave` is called. Idempotent. */
  follow(key: string, packedFolder: string): void;
  leave(key: string): void;
  close(): void;
}

/** Returns a watcher without folders. All folders share one inotify instance. */
export function createSpoolWatcher(logger: Logger): SpoolWatcher {
  const watchers = new Map<string, FSWatcher>();
  const listeners = new Set<(key: string) => void>();

  function leave(key: string): void {
    watchers.get(key)?.close();
    watchers.delete(key);
  }

  return {
    waitForSync: () => Promise.resolve(),
    keys: () => [],
    subscribe(enqueue) {
      listeners.add(enqueue);
      return () => listeners.delete(enqueue);
    },
    follow(key, packedFolder) {
      if (watchers.has(key)) return;
      try {
        // Only files renamed into place are complete. Their names show this.
        const watcher = watch(packedFolder, { persistent: false }, (_event, name) => {
          if (name?.endsWith(".json") === true) for (const enqueue of listeners) enqueue(key);
        });
        watcher.on("error", () => leave(key));
        watchers.set(key, watcher);
      } catch (error) {
        logger.debug(
          { err: error, gameSession: key },
          "A packer's folder cannot be watched. It is polled instead.",
        );
      }
    },
    leave,
    close() {
      for (const key of [...watchers.keys()]) leave(key);
    },
  };
}
