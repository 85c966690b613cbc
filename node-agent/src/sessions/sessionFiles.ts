import type { Stats } from "node:fs";
import { lstat, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { objectName } from "#contracts/crd/schema.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import { isAbsent, syncDirectory } from "../disk/files.ts";
import type { KeptFolders } from "../disk/keptFolders.ts";
import type { NodePaths } from "../disk/nodePaths.ts";
import type { TreeRemover } from "../disk/treeRemover.ts";
import { isRestoreOrdered, makePackedFolder } from "../spool/orderRestore.ts";
import { SessionRecord } from "./record.ts";

const recordName = "session.json";

/** Error codes that report lost bytes. */
const damageCodes: ReadonlySet<string> = new Set(["EIO", "EUCLEAN", "EBADMSG"]);

/** The session folders on the node's disk. */
export interface SessionFiles {
  /**
   * Creates the folder that holds sessions. Returns the names of the existing ones. Folders without a record
   * are removed.
   */
  load(): Promise<string[]>;
  /** Returns the record. Undefined if there is none. @throws RecordUnreadable */
  read(gameSession: string): Promise<SessionRecord | undefined>;
  /**
   * Replaces the whole record and syncs it to disk. The first write creates the session's folder and the
   * packer's folder in it with one rename, because a pod may have mounted a folder as soon as it is visible.
   */
  write(record: SessionRecord): Promise<void>;
  /**
   * Like `write`, for a record of what the object store has or of how the last save ended. If the disk does
   * not take it, it is kept in memory, and each read retries the write.
   */
  writeStored(record: SessionRecord): Promise<void>;
  /** Whether a record of `writeStored` is not on the disk yet. */
  isUnwritten(gameSession: string): boolean;
  /** Returns whether the packer has its complete order. */
  isOrdered(gameSession: string): Promise<boolean>;
  folder(gameSession: string): string;
  /** Returns the packer's folder. */
  packedFolder(gameSession: string): string;
  /**
   * Removes the folder. With `onlyContents` the folder stays, because a pod of another session of the same
   * name may have it mounted.
   */
  remove(gameSession: string, onlyContents?: boolean): Promise<void>;
  /** Sets the folder, or only its contents, aside for an admin. Returns the new path. */
  keep(gameSession: string, onlyContents?: boolean): Promise<string>;
}

/** The record of a session was not written by an agent. */
export class RecordUnreadable extends Error {
  constructor(gameSession: string, cause: unknown) {
    super(`The record of session ${gameSession} on this node cannot be read.`, { cause });
    this.name = "RecordUnreadable";
  }
}

/** Dependencies of createSessionFiles. */
interface SessionFilesDeps {
  paths: NodePaths;
  remover: TreeRemover;
  kept: KeptFolders;
  logger: Logger;
}

/** Returns the session folders below the agent's root. Reads nothing before `load`. */
export function createSessionFiles({ paths, remover, kept, logger }: SessionFilesDeps): SessionFiles {
  const folder = (gameSession: string): string => paths.session(gameSession);
  const recordPath = (gameSession: string): string => `${folder(gameSession)}/${recordName}`;
  async function load(): Promise<string[]> {
    await mkdir(paths.sessions, { recursive: true, mode: 0o755 });
    const names: string[] = [];
    for (const name of await readdir(paths.sessions)) {
      // A folder is created with its record, so without one there is nothing to lose. A record that the disk
      // fails to read may exist.
      const hasRecord =
        objectName.safeParse(name).success &&
        (await find(recordPath(name)).then(
          (found) => found?.isFile() ?? false,
          () => true,
        ));
      if (hasRecord) names.push(name);
      else await remover.remove(folder(name));
    }
    return names;
  }

  async function read(gameSession: string): Promise<SessionRecord | undefined> {
    return (await unwritten.get(gameSession)) ?? readFromDisk(gameSession);
  }

  async function readFromDisk(gameSession: string): Promise<SessionRecord | undefined> {
    let text: string;
    try {
      text = await readFile(recordPath(gameSession), "utf8");
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === "ENOENT") return undefined;
      throw damageCodes.has(code ?? "") ? new RecordUnreadable(gameSession, error) : error;
    }
    try {
      return SessionRecord.parse(JSON.parse(text));
    } catch (error) {
      throw new RecordUnreadable(gameSession, error);
    }
  }

  async function write(record: SessionRecord): Promise<void> {
    const directory = folder(record.gameSession);
    if ((await find(directory)) === undefined) await makeFolder(record);
    else await writeInto(directory, record);
  }

  /** Creates the session's folder, or nothing if the disk does not take all of it or the agent is killed. */
  async function makeFolder(record: SessionRecord): Promise<void> {
    const draft = `${paths.temporary}/${record.gameSession}.session`;
    try {
      await mkdir(draft, { recursive: true, mode: 0o755 });
      await writeInto(draft, record);
      await mkdir(paths.sessions, { recursive: true, mode: 0o755 });
      await rename(draft, folder(record.gameSession));
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    }
    await syncDirectory(paths.sessions);
  }

  const unwritten = new UnwrittenRecords(write, logger);
  return {
    load,
    read,
    folder,
    async write(record) {
      await write(record);
      unwritten.forget(record.gameSession);
    },
    writeStored: (record) => unwritten.write(record),
    isUnwritten: (gameSession) => unwritten.has(gameSession),
    packedFolder: (gameSession) => paths.packed(gameSession),
    isOrdered: (gameSession) => isRestoreOrdered(folder(gameSession)),
    async remove(gameSession, onlyContents = false) {
      if (onlyContents) await remover.removeContents(folder(gameSession), recordName);
      else await remover.remove(folder(gameSession));
      unwritten.forget(gameSession);
    },
    async keep(gameSession, onlyContents = false) {
      const path = await kept.take(folder(gameSession), gameSession, recordName, onlyContents);
      unwritten.forget(gameSession);
      return path;
    },
  };
}

async function writeInto(directory: string, record: SessionRecord): Promise<void> {
  const draft = `${directory}/${recordName}.new`;
  const handle = await open(draft, "w", 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(record)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, `${directory}/${recordName}`);
  await makePackedFolder(directory);
  await syncDirectory(directory);
}

/**
 * Returns undefined if the file does not exist. Throws any other disk error, because a file that cannot be
 * read may exist.
 */
async function find(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/**
 * Records that the disk did not take: of a save in the object store, or of how a session's last save ended. A
 * disk may stay full or read-only indefinitely. The record is reported anyway, and nothing is stored again.
 * If the agent exits before the disk takes a record, the next agent uses the session's status, or stores the
 * same bytes under the same key again.
 */
export class UnwrittenRecords {
  readonly #write: (record: SessionRecord) => Promise<void>;
  readonly #logger: Logger;
  /** The records, by game session. */
  readonly #records = new Map<string, SessionRecord>();

  constructor(write: (record: SessionRecord) => Promise<void>, logger: Logger) {
    this.#write = write;
    this.#logger = logger;
  }

  /** Writes the record, or keeps it in memory if the disk refuses it. */
  async write(record: SessionRecord): Promise<void> {
    try {
      await this.#write(record);
      this.#records.delete(record.gameSession);
    } catch (error) {
      if (systemErrorCode(error) === undefined) throw error;
      const { gameSession } = record;
      if (!this.has(gameSession))
        this.#logger.warn(
          { err: error, gameSession },
          "A session's record could not be written to the disk. It is kept in memory and retried.",
        );
      this.#records.set(gameSession, record);
    }
  }

  /** Retries a record that could not be written and returns it; undefined if there is none. */
  async get(gameSession: string): Promise<SessionRecord | undefined> {
    const record = this.#records.get(gameSession);
    if (record !== undefined) await this.write(record);
    return record;
  }

  has(gameSession: string): boolean {
    return this.#records.has(gameSession);
  }

  forget(gameSession: string): void {
    this.#records.delete(gameSession);
  }
}
