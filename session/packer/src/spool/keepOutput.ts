import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { gameOutputBytes, spoolNames } from "#contracts/nodeLayout.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import { createNew, moveDurably } from "./spoolFiles.ts";

/**
 * Copies the end of the game's output into the spool, from where the node agent stores it. The game can write
 * to the source, so it may be anything; at most `gameOutputBytes` of a regular file are copied. An error is
 * only logged, because the save matters more.
 */
export function keepOutput(source: string, spool: string, logger: Logger): void {
  try {
    const bytes = readOutput(source);
    if (bytes.length > 0) writeOutput(`${spool}/${spoolNames.output}`, bytes);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT")
      logger.warn({ err: error }, "The game's output could not be kept.");
  }
}

function readOutput(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return Buffer.alloc(0);
    const bytes = Buffer.alloc(gameOutputBytes);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}

function writeOutput(path: string, bytes: Buffer): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const file = openSync(draft, createNew, 0o600);
  try {
    writeSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  moveDurably(draft, path);
}
