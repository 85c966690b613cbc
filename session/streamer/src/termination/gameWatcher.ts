import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { parseGameTermination, type GameTermination } from "#contracts/termination.ts";

const readEveryMs = 100;
/** Ten times what the supervisor writes. */
const maxBytes = 4_096;

/**
 * Follows the game container's termination report, which its supervisor writes into a directory of that
 * container. The game's own processes can write there as well: the file may be anything, and what it says is
 * a claim.
 */
export interface GameWatcher {
  /** Reads the file now and returns the latest report: a stop may come before the next regular reading. */
  readReport(): GameTermination | undefined;
  stop(): void;
}

/** Starts to follow the report at this path; `onEnd` is called once, when the game has ended. */
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
    const text = readSmallRegularFile(path);
    return text === undefined ? undefined : parseGameTermination(text);
  } catch {
    return undefined; // The game's container has not started yet, or what is there cannot be a report.
  }
}

/**
 * Returns the text of a small regular file; neither waits for a FIFO's writer nor follows a link. Throws when
 * there is nothing to open.
 */
function readSmallRegularFile(path: string): string | undefined {
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
