import { readFileSync } from "node:fs";
import { parseGameTermination, type GameTermination } from "#contracts/termination.ts";

const lookEveryMs = 100;

/** The game container's account of itself, as its supervisor writes it into the shared directory. */
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
    return parseGameTermination(readFileSync(path, "utf8"));
  } catch {
    return undefined; // the game's container has not started yet
  }
}
