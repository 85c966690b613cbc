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

/** What a disk says of bytes that are lost. */
const damageCodes: ReadonlySet<string> = new Set(["EIO", "EUCLEAN", "EBADMSG"]);

/** The session folders on the node's disk. */
export interface SessionFiles {
  /**
   * Makes the folder that holds sessions; returns the names of those that are there. What has no record is
   * dropped.
   */
  load(): Promise<string[]>;
  /** Returns undefined without a record; throws RecordUnreadable. */
  read(gameSession: string): Promise<SessionRecord | undefined>;
  /**
   * Replaces the record whole, through to the disk. The first one comes with its folder and the packer's in
   * it, by one rename: a pod may have mounted what is seen.
   */
  write(record: SessionRecord): Promise<void>;
  /**
   * The same for a record of what the object store has, or of how the last save ended: where the disk does
   * not take it, it is read from memory, and each reading tries to write it.
   */
  writeStored(record: SessionRecord): Promise<void>;
  /** Whether the disk has yet to take what `writeStored` was given. */
  isUnwritten(gameSession: string): boolean;
  /** Returns whether the packer has its order, whole. */
  isOrdered(gameSession: string): Promise<boolean>;
  folder(gameSession: string): string;
  /** The packer's folder. */
  packedFolder(gameSession: string): string;
  /**
   * Removes the folder; `onlyContents`: what is in it, as a pod of another session of the name may have it
   * mounted.
   */
  remove(gameSession: string, onlyContents?: boolean): Promise<void>;
  /** Sets the folder aside for an admin, or what is in it; returns where it is. */
  keep(gameSession: string, onlyContents?: boolean): Promise<string>;
}

/** The record of a session is not what an agent writes. */
export class RecordUnreadable extends Error {
  constructor(gameSession: string, cause: unknown) {
    super(`The record of session ${gameSession} on this node cannot be read.`, { cause });
    this.name = "RecordUnreadable";
  }
}

/** What the session folders are made of. */
interface SessionFilesDeps {
  paths: NodePaths;
  remover: TreeRemover;
  kept: KeptFolders;
  logger: Logger;
}

/** Returns the session folders below the agent's root; nothing is read before `load`. */
export function createSessionFiles({ paths, remover, kept, logger }: SessionFilesDeps): SessionFiles {
  const folder = (gameSession: string): string => paths.session(gameSession);
  const recordPath = (gameSession: string): string => `${folder(gameSession)}/${recordName}`;
  async function load(): Promise<string[]> {
    await mkdir(paths.sessions, { recursive: true, mode: 0o755 });
    const names: string[] = [];
    for (const name of await readdir(paths.sessions)) {
      // A folder comes with its record, so without one there is nothing to lose. A record that the disk fails
      // to show may be there.
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

  /** Leaves no folder where the disk does not take all of it, or the agent is killed. */
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
 * Returns undefined where there is no file. Throws any other error of the disk, because a file that cannot be
 * read may be there.
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
 * Records that the disk did not take: of a save that the object store has, or of how a session's last save
 * ended. A disk may stay full, or read-only, for good: what is known is reported all the same, and nothing is
 * stored again. An agent that ends before the disk takes them goes by what the session's status shows, and
 * else stores the same bytes under the same key once more.
 */
export class UnwrittenRecords {
  readonly #write: (record: SessionRecord) => Promise<void>;
  readonly #logger: Logger;
  /** By game session. */
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
