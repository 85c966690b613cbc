import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { parseGameTermination, type GameTermination } from "#contracts/termination.ts";

const readEveryMs = 100;
/** Ten times the size of a report. */
const maxBytes = 4_096;

/**
 * Follows the termination report that the supervisor writes into a directory of the game container. The game
 * can write there too: the file may be anything, and its content is only a claim.
 */
export interface GameWatcher {
  /**
   * Reads the file immediately and returns the latest report: a stop may come before the next scheduled read.
   */
  readReport(): GameTermination | undefined;
  stop(): void;
}

/** Starts following the report at `path`. `onEnd` is called once, when the game has ended. */
export function watchGame(path: string, onEnd: (report: GameTermination) => void): GameWatcher {
  let latest: GameTermination | undefined;
  const readReport = () => {
    const report = readTerminationReport(path);
    const hasJustEnded = report?.state === "ended" && latest?.state !== "ended";
    latest = report ?? latest;
    if (hasJustEnded) onEnd(report);
    return latest;
  };
  const timer = setInterval(readReport, readEveryMs);
  return { readReport, stop: () => clearInterval(timer) };
}

function readTerminationReport(path: string): GameTermination | undefined {
  try {
    const text = readSmallRegularFile(path, maxBytes);
    return text === undefined ? undefined : parseGameTermination(text);
  } catch {
    return undefined; // The game container has not started yet, or the file is not a report.
  }
}

/**
 * Returns the text of a regular file of at most this size, or undefined. Neither waits for a FIFO's writer
 * nor follows links.
 *
 * @throws Error when the file cannot be opened.
 */
export function readSmallRegularFile(path: string, maxBytes: number): string | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return undefined;
    const buffer = Buffer.alloc(maxBytes + 1);
    const length = readSync(file, buffer, 0, buffer.length, 0);
    return length > maxBytes ? undefined : buffer.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}
