import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { parseGameTermination, type GameTermination } from "#contracts/termination.ts";

const lookEveryMs = 100;
/** Ten times what the supervisor writes. */
const maxBytes = 4_096;

/**
 * The game container's account of itself, as its supervisor writes it into a directory of that container's. The game's own processes can
 * write there as well, so what is found may be anything and nothing in it is more than a claim.
 */
export interface GameWatcher {
  /** Reads the file now: a stop may come before the next look. */
  look(): GameTermination | undefined;
  stop(): void;
}

/** Follows the account; `onEnd` is called once, when the game ended. */
export function watchGame(path: string, onEnd: (account: GameTermination) => void): GameWatcher {
  let latest: GameTermination | undefined;
  const look = () => {
    const account = readAccount(path);
    const hasJustEnded = account?.state === "ended" && latest?.state !== "ended";
    latest = account ?? latest;
    if (hasJustEnded) onEnd(account);
    return latest;
  };
  const timer = setInterval(look, lookEveryMs);
  return { look, stop: () => clearInterval(timer) };
}

function readAccount(path: string): GameTermination | undefined {
  try {
    const text = readBounded(path);
    return text === undefined ? undefined : parseGameTermination(text);
  } catch {
    return undefined; // the game's container has not started yet, or what is there cannot be an account
  }
}

/** The text of a small regular file; neither waits for a FIFO's writer nor follows a link. Throws when there is nothing to open. */
function readBounded(path: string): string | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) return undefined;
    const room = Buffer.alloc(maxBytes + 1);
    const length = readSync(file, room, 0, room.length, 0);
    return length > maxBytes ? undefined : room.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}
