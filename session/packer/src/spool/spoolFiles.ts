import { closeSync, constants, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { spoolFileBytes } from "#contracts/nodeLayout.ts";
import { systemErrorCode } from "#runtime/errors.ts";

/** Flags for creating a file that must not exist yet. */
export const createNew = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Returns a small file's text; undefined when the file does not exist.
 *
 * @throws Error when it is larger than such a file may be.
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

/** Writes a small file atomically, durable across a power loss. */
export function writeDurably(path: string, value: unknown): void {
  const draft = writeDraft(path, value, fsyncSync);
  moveDurably(draft, path);
}

/**
 * Writes a small file atomically but not durably. Sufficient for what a power loss makes useless, because it
 * also takes the save volume.
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

/** Renames within a folder, durable across a power loss. */
export function moveDurably(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(to.slice(0, to.lastIndexOf("/")), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
