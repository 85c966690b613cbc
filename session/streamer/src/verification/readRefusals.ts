import { limits } from "#contracts/limits.ts";
import { gameObservationsBytes } from "#contracts/nodeLayout.ts";
import { type Refusal, RefusalKind } from "#contracts/observations.ts";
import { readSmallRegularFile } from "../termination/gameWatcher.ts";

const { refusals: refusalsMax, refusalLength } = limits.verification;

/**
 * Returns what the shim has noted, each once. The game can write to the file: lines of another shape are left
 * out.
 */
export function readRefusals(path: string): Refusal[] {
  const found = new Map<string, Refusal>();
  for (const line of readLines(path)) {
    const [kind, detail] = line.split("\t", 2);
    const known = RefusalKind.safeParse(kind);
    if (!known.success || detail === undefined || found.size >= refusalsMax) continue;
    found.set(line, { kind: known.data, detail: printable(detail).slice(0, refusalLength) });
  }
  return [...found.values()];
}

function readLines(path: string): string[] {
  try {
    return readSmallRegularFile(path, gameObservationsBytes)?.split("\n") ?? [];
  } catch {
    return []; // No program of the game has noted anything.
  }
}

function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, "?");
}
