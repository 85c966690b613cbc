import { closeSync, constants, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { spoolFileBytes } from "#contracts/nodeLayout.ts";
import { systemErrorCode } from "#runtime/errors.ts";

/** Flags to create a file that must not exist yet. */
export const createNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Returns a small file's text; undefined when there is none. Throws when it is larger than such a file may
 * be.
 */
export function readSmallFile(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(spoolFileBytes + 1);
    const length = readSync(file, bytes);
    if (length > spoolFileBytes) throw new Error(`${path} is larger than ${spoolFileBytes} bytes.`);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

/** Writes a small file atomically, so that it survives a loss of power. */
export function writeDurably(path: string, value: unknown): void {
  const draft = writeDraft(path, value, fsyncSync);
  moveDurably(draft, path);
}

/**
 * Writes a small file atomically; enough for what is useless after a loss of power, which takes the save
 * volume with it.
 */
export function writeAtomically(path: string, value: unknown): void {
  renameSync(writeDraft(path, value), path);
}

function writeDraft(path: string, value: unknown, sync?: (file: number) => void): string {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const file = openSync(draft, createNew, 0o600);
  try {
    writeSync(file, JSON.stringify(value));
    sync?.(file);
  } finally {
    closeSync(file);
  }
  return draft;
}

/** Renames within a folder, so that the new name survives a loss of power. */
export function moveDurably(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(to.slice(0, to.lastIndexOf("/")), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
