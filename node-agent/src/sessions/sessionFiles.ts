import { lstat, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { objectName } from "#contracts/crd/schema.ts";
import { saveDirectory } from "#contracts/nodeLayout.ts";
import { syncDirectory } from "../archive/treeWriter.ts";
import type { NodePaths } from "../paths.ts";
import { SessionRecord } from "./record.ts";

/** The session directories on disk. */
export interface SessionFiles {
  /** Makes the folders; gives the sessions that are there, and drops directories that never got a record. */
  load(): Promise<SessionRecord[]>;
  read(gameSession: string): Promise<SessionRecord | undefined>;
  /** Replaces the record whole, through to the disk. */
  write(record: SessionRecord): Promise<void>;
  /** Whether the save directory is there; it appears complete. */
  isPrepared(gameSession: string): Promise<boolean>;
  saveDirectory(gameSession: string): string;
  /** Where a save is packed before it is stored. */
  packedPath(gameSession: string): string;
  remove(gameSession: string): Promise<void>;
  /** Sets the directory aside for an admin, and drops the oldest beyond the bound. */
  keep(gameSession: string): Promise<string>;
}

/** Directories set aside at most. */
const maxKept = 32;

export function createSessionFiles(paths: NodePaths): SessionFiles {
  const recordPath = (gameSession: string): string => `${paths.session(gameSession)}/session.json`;

  async function load(): Promise<SessionRecord[]> {
    await mkdir(paths.sessions, { recursive: true, mode: 0o755 });
    await mkdir(paths.keptSessions, { recursive: true, mode: 0o700 });
    const records: SessionRecord[] = [];
    for (const name of await readdir(paths.sessions)) {
      const record = objectName.safeParse(name).success ? await read(name) : undefined;
      if (record !== undefined) records.push(record);
      // The record is written before the save directory is made: without it there is nothing to lose.
      else await rm(`${paths.sessions}/${name}`, { recursive: true, force: true });
    }
    return records;
  }

  async function read(gameSession: string): Promise<SessionRecord | undefined> {
    try {
      return SessionRecord.parse(JSON.parse(await readFile(recordPath(gameSession), "utf8")));
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }

  async function write(record: SessionRecord): Promise<void> {
    const directory = paths.session(record.gameSession);
    await mkdir(directory, { recursive: true, mode: 0o755 });
    const handle = await open(`${directory}/session.json.new`, "w", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(record)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(`${directory}/session.json.new`, recordPath(record.gameSession));
    await syncDirectory(directory);
  }

  async function keep(gameSession: string): Promise<string> {
    const kept = `${paths.keptSessions}/${gameSession}`;
    await rm(kept, { recursive: true, force: true });
    await rename(paths.session(gameSession), kept);
    await dropOldest(paths.keptSessions);
    return kept;
  }

  return {
    load, read, write, keep,
    isPrepared: async (gameSession) =>
      (await lstat(saveDirectory(paths.root, gameSession)).catch(() => undefined))?.isDirectory() ?? false,
    saveDirectory: (gameSession) => saveDirectory(paths.root, gameSession),
    packedPath: (gameSession) => `${paths.session(gameSession)}/save.tar.gz`,
    remove: (gameSession) => rm(paths.session(gameSession), { recursive: true, force: true }),
  };
}

async function dropOldest(directory: string): Promise<void> {
  const kept = await Promise.all((await readdir(directory)).map(async (name) => {
    const path = `${directory}/${name}`;
    return { path, changedMs: (await lstat(path)).ctimeMs };
  }));
  kept.sort((left, right) => right.changedMs - left.changedMs);
  for (const { path } of kept.slice(maxKept)) await rm(path, { recursive: true, force: true });
}
