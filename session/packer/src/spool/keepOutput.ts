import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { gameOutputBytes, sessionObservationsBytes, spoolNames } from "#contracts/nodeLayout.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import type { Logger } from "#runtime/logger.ts";
import type { PackerConfig } from "../config.ts";
import { createNew, moveDurably } from "./spoolFiles.ts";

/**
 * Copies the end of the game's output and what the session has observed into the spool, from where the node
 * agent stores them. The game can write to the first source, so it may be anything; at most the maximum of a
 * regular file is copied. An error is only logged, because the save matters more.
 */
export function keepOutput(
  { output, observations, spool }: Pick<PackerConfig, "output" | "observations" | "spool">,
  logger: Logger,
): void {
  keepFile(output, `${spool}/${spoolNames.output}`, gameOutputBytes, logger);
  if (observations !== undefined)
    keepFile(observations, `${spool}/${spoolNames.observations}`, sessionObservationsBytes, logger);
}

function keepFile(source: string, target: string, bytesMax: number, logger: Logger): void {
  try {
    const bytes = readStart(source, bytesMax);
    if (bytes.length > 0) writeFile(target, bytes);
  } catch (error) {
    if (systemErrorCode(error) !== "ENOENT")
      logger.warn({ err: error, file: source }, "What is left of a session could not be kept.");
  }
}

function readStart(path: string, bytesMax: number): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return Buffer.alloc(0);
    const bytes = Buffer.alloc(bytesMax);
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}

function writeFile(path: string, bytes: Buffer): void {
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
